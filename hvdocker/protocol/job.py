"""A job as its containers read it (job.json), and the record that the supervisor writes (record.json). Pure.

The controller did not write record.json, so its fields are checked one by one: a missing or wrong value becomes a
default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from signal import Signals
from typing import Any

from hvdocker.protocol.json_text import json_text
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Resilience
from hvdocker.secret import SecretSource

# Seconds between SIGTERM and SIGKILL for the launcher and its ranks.
GRACE_S = 10
# Seconds that a master may take to end; then it is killed. It covers the grace of the launcher, then the
# grace of ranks on other hosts with the logins there, then the removal of secrets.
STOP_S = 45


@dataclass(frozen=True)
class JobSpec:
    """Everything that defines a job. `job` and `cluster` are the names of the job and its cluster. `placement` has its
    hosts and slots, `addresses` the training address of each host. `port` is the SSH port of the workers. `launcher` is
    the command line of the launcher (horovodrun, which starts the ranks), `command` what each rank runs, in the folder
    `workdir` of its container. `code_hash` identifies the state of the code. `env` has the variables of `env:` in the
    inventory and of `--env`; `env_from_caller` names those whose values came from the caller's environment. `secrets`
    says where to read each secret, `resilience` what the job does on failure. `script` is what the user named: a
    script, a module, or the first word of a command."""

    job: str
    cluster: str
    placement: Placement
    addresses: Mapping[str, str]
    port: int
    command: tuple[str, ...]
    launcher: tuple[str, ...]
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)
    code_hash: str = ""
    env_from_caller: tuple[str, ...] = ()
    secrets: tuple[SecretSource, ...] = ()
    resilience: Resilience = field(default_factory=Resilience)
    # What the user named: a script, a module, or the first word of a command.
    script: str = ""

    def for_host(self, host: str) -> str:
        """Return the text of the job.json that the rank wrapper and the supervisor read on `host`, a host of the job.
        Of secrets it has only the names.

        job.json has the command and the environment, so that the launcher (horovodrun) only has to start `rank JOB` on
        every host: nothing that the user typed passes through a remote shell, and no value of `--env` through a command
        line."""
        secrets = {"secrets": [secret.name for secret in self.secrets]} if self.secrets else {}
        devices = self.placement.devices_on(host)
        body = {
            "job": self.job,
            "cluster": self.cluster,
            "np": self.placement.np,
            "port": self.port,
            "host": host,
            "hosts": [
                JobHost(share.host, self.addresses[share.host], share.slots).as_json()
                for share in self.placement.shares
            ],
            "command": list(self.command),
            "workdir": self.workdir,
            "env": dict(self.env),
            "launcher": list(self.launcher),
            "grace_s": GRACE_S,
            "code_hash": self.code_hash,
            "endurance": self.resilience.as_json(),
            **secrets,
            **({"devices": list(devices)} if devices else {}),
        }
        return json_text(body)


@dataclass(frozen=True)
class JobHost:
    """A host of a job, its training address, and how many ranks it may have."""

    name: str
    address: str
    slots: int

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "address": self.address, "slots": self.slots}


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


@dataclass(frozen=True)
class RankEnd:
    """How a rank ended. `code` is its exit code: 128 + `signal` if a signal killed it, None if it still runs or the
    code is unknown. `signal` is the number of that signal, else None. `seconds` is how long it ran. `max_rss_kb` is
    its peak memory, `was_oom_killed` says that memory ran out. `interface` is the network interface with its training
    address, empty if unknown."""

    rank: int
    host: str
    code: int | None
    signal: int | None = None
    seconds: float | None = None
    max_rss_kb: int | None = None
    was_oom_killed: bool = False
    interface: str = ""

    @property
    def signal_name(self) -> str:
        """The name of the signal, such as SIGKILL; its number if the controller knows no such signal."""
        try:
            return Signals(self.signal or 0).name
        except ValueError:
            return f"signal {self.signal}"

    @staticmethod
    def read(value: Mapping[str, Any]) -> RankEnd:  # Any: foreign JSON, checked field by field
        return RankEnd(
            rank=int(value.get("rank", -1)),
            host=str(value.get("host") or "?"),
            code=_integer(value.get("code")),
            signal=_integer(value.get("signal")),
            seconds=_number(value.get("seconds")),
            max_rss_kb=_integer(value.get("max_rss_kb")),
            was_oom_killed=value.get("oom") is True,
            interface=str(value.get("interface") or ""),
        )


@dataclass(frozen=True)
class Attempt:
    """One run of the launcher (horovodrun, which starts the ranks), numbered from 1; every restart is a new attempt.
    Times are seconds since the epoch; `finished` is None while it runs. `np` is the number of ranks. `launcher_code`
    is the exit code of the launcher. `first_failure` is the rank that failed first (None if none did), `lost_hosts`
    are hosts that stopped responding."""

    number: int
    started: float | None = None
    finished: float | None = None
    np: int | None = None
    hosts: tuple[str, ...] = ()
    launcher_code: int | None = None
    first_failure: RankEnd | None = None
    lost_hosts: tuple[str, ...] = ()

    @staticmethod
    def read(value: Mapping[str, Any]) -> Attempt:  # Any: as above
        first = _mapping(value.get("first_failure"))
        return Attempt(
            number=_integer(value.get("number")) or 0,
            started=_number(value.get("started")),
            finished=_number(value.get("finished")),
            np=_integer(value.get("np")),
            hosts=_texts(value.get("hosts")),
            launcher_code=_integer(value.get("launcher_code")),
            first_failure=RankEnd.read(first) if first else None,
            lost_hosts=_texts(value.get("lost_hosts")),
        )


@dataclass(frozen=True)
class RuleMatch:
    """A line of output that a log rule of the inventory matched, with the rank and the host that printed it. `pattern`
    is the regular expression of the rule. `rank` is None and `host` is `?` if the record does not name them."""

    pattern: str
    line: str
    rank: int | None
    host: str

    @staticmethod
    def read(value: Mapping[str, Any]) -> RuleMatch:  # Any: as above
        return RuleMatch(
            pattern=str(value.get("pattern", "")),
            line=str(value.get("line", "")),
            rank=_integer(value.get("rank")),
            host=str(value.get("host") or "?"),
        )


@dataclass(frozen=True)
class DroppedHost:
    """A host whose ranks failed `times` times in a row soon after their start. `how` describes the last failure.
    `then` is what the supervisor did: `drop` (the job goes on without the host), or `end` for the head: a job cannot
    go on without its head, so the run was ended."""

    host: str
    times: int
    how: str
    then: str

    @staticmethod
    def read(value: Mapping[str, Any]) -> DroppedHost:  # Any: as above
        return DroppedHost(
            host=str(value.get("host") or "?"),
            times=_integer(value.get("times")) or 0,
            how=str(value.get("how") or "?"),
            then=str(value.get("then") or ""),
        )


@dataclass(frozen=True)
class Hang:
    """A job in which no rank did anything for `after_s` seconds. `odd_rank` on `odd_host` is the rank that the others
    wait for (None and empty if unknown), and `why` says why it was chosen. `bundle` is the name of the folder with the
    stacks of the ranks, in the job's logs; empty if it could not be written. `then` is what the supervisor did:
    `wait` (nothing), `kill` (it ended the job) or `restart`; empty if unknown."""

    after_s: float
    odd_rank: int | None = None
    odd_host: str = ""
    why: str = ""
    bundle: str = ""
    then: str = ""

    @staticmethod
    def read(value: Mapping[str, Any]) -> Hang:  # Any: as above
        odd = _mapping(value.get("odd"))
        return Hang(
            after_s=_number(value.get("after_s")) or 0.0,
            odd_rank=_integer(odd.get("rank")),
            odd_host=str(odd.get("host") or ""),
            why=str(value.get("why") or ""),
            bundle=str(value.get("bundle") or ""),
            then=str(value.get("then") or ""),
        )


@dataclass(frozen=True)
class JobRecord:
    """The record.json of a supervisor, written at the start of the job and at every change.

    `state` is `running`, `succeeded`, `failed` or `stopped`; if a supervisor is killed, it stays `running`. `code` is
    the exit code of the master, None while the job runs. `started` and `finished` are seconds since the epoch;
    `finished` is 0 while the job runs. `restarts` counts the restarts that were made. `first_failure` and `lost_hosts`
    are those of the last attempt (run of the launcher, horovodrun). `dropped_by_rule` are the lines because of which a
    log rule dropped their hosts, `dropped_hosts` are hosts whose ranks kept failing. `stopped_by_rule` is the line that
    forbade further restarts. `versions` maps installed packages, and `python`, to their versions. `output_lines` counts
    the lines that the launcher wrote in attempts that are over; 0 if an older image did not count them."""

    job: str
    state: str
    code: int | None
    started: float
    finished: float
    ranks: tuple[RankEnd, ...] = ()
    first_failure: RankEnd | None = None
    restarts: int = 0
    attempts: tuple[Attempt, ...] = ()
    lost_hosts: tuple[str, ...] = ()
    dropped_by_rule: tuple[RuleMatch, ...] = ()
    dropped_hosts: tuple[DroppedHost, ...] = ()
    stopped_by_rule: RuleMatch | None = None
    hang: Hang | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    output_lines: int = 0

    @property
    def seconds(self) -> float:
        return max(0.0, self.finished - self.started)

    @staticmethod
    def read(text: str) -> JobRecord | None:
        """Parse the text of a record.json; return None if it is not a valid record."""
        try:
            value = json.loads(text)
            first, stopped, hang = (_mapping(value.get(key)) for key in ("first_failure", "stopped_by_rule", "hang"))
            return JobRecord(
                job=str(value["job"]),
                state=str(value["state"]),
                code=_integer(value.get("code")),
                started=float(value["started"]),
                finished=float(value.get("finished") or 0.0),
                ranks=tuple(RankEnd.read(rank) for rank in value.get("ranks", ())),
                first_failure=RankEnd.read(first) if first else None,
                restarts=_integer(value.get("restarts")) or 0,
                attempts=tuple(Attempt.read(one) for one in _mappings(value.get("attempts"))),
                lost_hosts=_texts(value.get("lost_hosts")),
                dropped_by_rule=tuple(RuleMatch.read(one) for one in _mappings(value.get("dropped"))),
                dropped_hosts=tuple(DroppedHost.read(one) for one in _mappings(value.get("struck"))),
                stopped_by_rule=RuleMatch.read(stopped) if stopped else None,
                hang=Hang.read(hang) if hang else None,
                versions={str(name): str(one) for name, one in _mapping(value.get("versions")).items()},
                output_lines=_integer(value.get("output_lines")) or 0,
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _mapping(value: object) -> Mapping[str, Any]:  # Any: JSON
    return value if isinstance(value, dict) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:  # Any: as above
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
