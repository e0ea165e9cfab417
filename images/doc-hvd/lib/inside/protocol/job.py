"""Reads job.json, the file with which the controller describes a job to this container."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inside.protocol import paths
from inside.protocol.resilience import Resilience, parse_resilience


class JobError(Exception):
    """job.json cannot be read, or lacks a key. The message says which."""


@dataclass(frozen=True)
class JobHost:
    """A host of the job: its name, its training address, and how many ranks it may have (`slots`)."""

    name: str
    address: str
    slots: int


@dataclass(frozen=True)
class Job:
    """A job as job.json describes it to the ranks and the supervisor. `name` and `cluster` are the names of the job
    and its cluster. `host` is the host of this container, `address` the training address of that host; `head_address`
    is that of the head. `hosts` are all hosts of the job with the head first, `host_count` is their number;
    `other_hosts` are the names of all hosts but this one.

    `command` is what each rank runs, in the folder `workdir` and with the variables `env` added. `launcher` is the
    command line of the launcher (horovodrun, which starts the ranks). `grace_s` is the time between SIGTERM and
    SIGKILL. `secrets` are the names of secrets, `devices` the UUIDs of the job's GPUs on this host. `resilience` says
    how the job reacts to failures."""

    name: str
    cluster: str
    host: str
    address: str
    head_address: str
    command: tuple[str, ...]
    workdir: str
    env: Mapping[str, str]
    launcher: tuple[str, ...]
    grace_s: float
    host_count: int
    other_hosts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    hosts: tuple[JobHost, ...] = ()
    resilience: Resilience = field(default_factory=Resilience)


def read_job(name: str, run: Path = paths.RUN) -> Job:
    """Read job.json of the job `name` from /run/hvdocker/jobs/NAME, where the controller put it. `run` is the folder
    /run/hvdocker. Raises JobError if the file cannot be read or lacks a key."""
    path = paths.job_folder(name, run) / "job.json"
    try:
        return parse_job(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise JobError(f"cannot read {path}: {error}") from error


def parse_job(data: dict[str, Any]) -> Job:  # Any: JSON
    """Return the Job that `data`, the parsed job.json, describes. Raises a JobError that names the missing key. Values
    are `Any` because they come from parsed JSON."""
    try:
        addresses = {host["name"]: host["address"] for host in data["hosts"]}
        return Job(
            name=data["job"],
            cluster=data["cluster"],
            host=data["host"],
            address=addresses[data["host"]],
            head_address=data["hosts"][0]["address"],
            command=tuple(data["command"]),
            workdir=data["workdir"],
            env={key: str(value) for key, value in data.get("env", {}).items()},
            launcher=tuple(data["launcher"]),
            grace_s=float(data.get("grace_s", 10)),
            host_count=len(addresses),
            other_hosts=tuple(name for name in addresses if name != data["host"]),
            secrets=tuple(data.get("secrets", ())),
            devices=tuple(data.get("devices", ())),
            hosts=tuple(JobHost(h["name"], h["address"], int(h.get("slots", 1))) for h in data["hosts"]),
            resilience=parse_resilience(data.get("endurance", {})),
        )
    except (KeyError, IndexError, TypeError) as error:
        raise JobError(f"job.json is incomplete: {error!r}") from error
