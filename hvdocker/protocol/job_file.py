"""job.json, the file with which the controller describes a job to its containers: its writer and its reader. Pure.

Every host of a job has such a file. At the start of the job the files differ only in the name of the host and in its
GPUs. The file of a host that joins later names this host among `hosts` too; the other files do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hvdocker.protocol.format import FORMAT
from hvdocker.protocol.json_text import json_text
from hvdocker.protocol.resilience import Resilience, parse_resilience

# Seconds between SIGTERM and SIGKILL for the launcher and its ranks.
GRACE_S = 10
# Seconds that a master may take to end; then it is killed. It covers the grace of the launcher, then the
# grace of ranks on other hosts with the logins there, then the removal of secrets.
STOP_S = 45
# The usual port of the process with rank 0.
MASTER_PORT = 29500


class JobError(ValueError):
    """The job.json cannot be read, has another format version, or lacks a key. The message says which of these is the
    case."""


@dataclass(frozen=True)
class JobHost:
    """A host of a job: its name, its training address, and how many ranks it may run at once (`slots`)."""

    name: str
    address: str
    slots: int

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "address": self.address, "slots": self.slots}


def parse_job_host(value: Mapping[str, Any]) -> JobHost:  # Any: JSON
    """Return the host that `value` describes; it has 1 slot if `slots` is missing. Raises KeyError, TypeError or
    ValueError if it is malformed. Values are `Any` because they come from parsed JSON."""
    return JobHost(str(value["name"]), str(value["address"]), int(value.get("slots", 1)))


@dataclass(frozen=True)
class JobLauncher:
    """The launcher of a job, which starts its ranks: its name, and options that only this launcher understands.
    `reason` says what chose the launcher, such as a flag; it is only shown to the user."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    reason: str = ""

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "options": dict(self.options), "reason": self.reason}


@dataclass(frozen=True)
class Job:
    """A job as job.json describes it to the ranks and the supervisor. `name` and `cluster` are the names of the job
    and its cluster. `host` is the host that this file is for, `hosts` are all hosts of the job with the head first.

    `command` is what each rank runs, in the folder `workdir` and with the variables `env` added. `launcher` says how
    the ranks are started, `np` is the number of ranks (0: as many as there are slots). `port` is the SSH port of the
    workers. `master_port` is the first of a block of TCP ports that are free on every host. The block has one port
    more than the largest number of slots on a host. `grace_s` is the time between SIGTERM and SIGKILL. `code_hash`
    identifies the state of the code. `secrets` are the names of secrets, `devices` the UUIDs of the job's GPUs on
    this host. `resilience` says how the job reacts to failures."""

    name: str
    cluster: str
    host: str
    hosts: tuple[JobHost, ...]
    command: tuple[str, ...]
    workdir: str
    launcher: JobLauncher
    env: Mapping[str, str] = field(default_factory=dict)
    np: int = 0
    port: int = 0
    master_port: int = MASTER_PORT
    grace_s: float = GRACE_S
    code_hash: str = ""
    secrets: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    resilience: Resilience = field(default_factory=Resilience)

    @property
    def address(self) -> str:
        """The training address of the host that this job.json is for."""
        return next(job_host.address for job_host in self.hosts if job_host.name == self.host)

    @property
    def head_address(self) -> str:
        return self.hosts[0].address

    @property
    def other_hosts(self) -> tuple[str, ...]:
        """The names of all hosts of the job, except the host that this job.json is for."""
        return tuple(job_host.name for job_host in self.hosts if job_host.name != self.host)

    def text(self) -> str:
        """Return the text of the job.json. It has the names of secrets, not their values.

        It has the command and the environment of the ranks, so the launcher only has to start `rank JOB` on every host.
        Therefore no word of the user's command passes through a remote shell, and no value of `--env` through a command
        line."""
        return json_text({
            "format": FORMAT,
            "job": self.name,
            "cluster": self.cluster,
            "np": self.np or sum(job_host.slots for job_host in self.hosts),
            "port": self.port,
            "master_port": self.master_port,
            "host": self.host,
            "hosts": [job_host.as_json() for job_host in self.hosts],
            "command": list(self.command),
            "workdir": self.workdir,
            "env": dict(self.env),
            "launcher": self.launcher.as_json(),
            "grace_s": self.grace_s,
            "code_hash": self.code_hash,
            "endurance": self.resilience.as_json(),
            **({"secrets": list(self.secrets)} if self.secrets else {}),
            **({"devices": list(self.devices)} if self.devices else {}),
        })  # fmt: skip


def parse_job(text: str) -> Job:
    """Return the Job that `text`, the content of a job.json, describes. Raises JobError if it is no JSON, has another
    format, or lacks a key."""
    try:
        data = json.loads(text)
        if (found := data.get("format", 1)) != FORMAT:
            is_older = isinstance(found, int) and found < FORMAT
            advice = "start the job again, an older hvdocker started it" if is_older else "build the image again"
            raise JobError(f"job.json has format {found}, this image reads format {FORMAT}: {advice}")
        return _parse(data)
    except JobError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise JobError(f"job.json is incomplete: {error!r}") from error
    except (ValueError, RecursionError) as error:
        raise JobError(f"job.json is damaged: {error}") from error


def _parse(data: Mapping[str, Any]) -> Job:  # Any: JSON
    hosts = tuple(parse_job_host(host) for host in data["hosts"])
    if data["host"] not in [job_host.name for job_host in hosts]:
        raise KeyError(data["host"])
    launcher = data["launcher"]
    return Job(
        name=data["job"],
        cluster=data["cluster"],
        host=data["host"],
        hosts=hosts,
        command=tuple(data["command"]),
        workdir=data["workdir"],
        launcher=JobLauncher(str(launcher["name"]), dict(launcher.get("options", {})), str(launcher.get("reason", ""))),
        env={key: str(value) for key, value in data.get("env", {}).items()},
        np=int(data.get("np", 0)) or sum(job_host.slots for job_host in hosts),
        port=int(data.get("port", 0)),
        master_port=int(data.get("master_port", MASTER_PORT)),
        grace_s=float(data.get("grace_s", GRACE_S)),
        code_hash=str(data.get("code_hash", "")),
        secrets=tuple(data.get("secrets", ())),
        devices=tuple(data.get("devices", ())),
        resilience=parse_resilience(data.get("endurance", {})),
    )


def job_file_for_new_host(text: str, job_host: JobHost, devices: tuple[str, ...]) -> str:
    """Return the text of the job.json for a host (`job_host`) that joins a running job. `text` is the job.json of the
    head, `devices` are the UUIDs of the GPUs that the job gets on the new host (empty: none).

    Raises ValueError if `text` is not a job.json."""
    body = json.loads(text)
    if not isinstance(body, dict) or not isinstance(body.get("hosts"), list):
        raise ValueError("it has no list of hosts")
    body["host"] = job_host.name
    if job_host.name not in [host.get("name") for host in body["hosts"]]:
        body["hosts"].append(job_host.as_json())
    body.pop("devices", None)
    if devices:
        body["devices"] = list(devices)
    return json_text(body)
