"""job.json as a value: what this container knows about a job."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inside.protocol import paths
from inside.protocol.resilience import Resilience, parse_resilience


class JobError(Exception):
    """The job file is missing or incomplete."""


@dataclass(frozen=True)
class JobHost:
    """A host of the job, and its number of ranks."""

    name: str
    address: str
    slots: int


@dataclass(frozen=True)
class Job:
    """What the ranks and the supervisor need to know about a job. `host` and `address` are this container's
    host, `hosts` are all hosts with the head first, and `devices` are the UUIDs of the job's GPUs on this
    host. `launcher` are the launcher's words."""

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
    """Read the job `name` from the folder that the controller made on this host. Raises JobError."""
    path = paths.job_folder(name, run) / "job.json"
    try:
        return parse_job(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise JobError(f"cannot read {path}: {error}") from error


def parse_job(data: dict[str, Any]) -> Job:  # Any: JSON
    """Parse the content of job.json. Raises JobError that names the missing key."""
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
