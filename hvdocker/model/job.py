"""A job: what its containers are told, and what they say at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hvdocker.model.endurance import Endurance
from hvdocker.model.placement import Placement
from hvdocker.model.secret import SecretSource

GRACE_S = 10


@dataclass(frozen=True)
class JobSpec:
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
    endurance: Endurance = field(default_factory=Endurance)
    # What the person named: a script, a module, or the first word of a command.
    script: str = ""

    def for_host(self, host: str) -> str:
        """The job.json that the rank wrapper and the supervisor read on that host; of secrets only names."""
        secrets = {"secrets": [secret.name for secret in self.secrets]} if self.secrets else {}
        devices = self.placement.devices_on(host)
        body = {
            "job": self.job,
            "cluster": self.cluster,
            "np": self.placement.np,
            "port": self.port,
            "host": host,
            "hosts": [
                Seat(share.host, self.addresses[share.host], share.slots).as_json()
                for share in self.placement.shares
            ],
            "command": list(self.command),
            "workdir": self.workdir,
            "env": dict(self.env),
            "launcher": list(self.launcher),
            "grace_s": GRACE_S,
            "code_hash": self.code_hash,
            "endurance": self.endurance.as_json(),
            **secrets,
            **({"devices": list(devices)} if devices else {}),
        }
        return json.dumps(body, ensure_ascii=False, indent=1)


@dataclass(frozen=True)
class Seat:
    """A host of a job, and how many ranks it may have."""

    name: str
    address: str
    slots: int

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "address": self.address, "slots": self.slots}


def newcomers_job(text: str, seat: Seat, devices: tuple[str, ...]) -> str:
    """The job.json of a host that joins its job, made of the head's. Raises ValueError where that is none."""
    body = json.loads(text)
    if not isinstance(body, dict) or not isinstance(body.get("hosts"), list):
        raise ValueError("it has no list of hosts")
    body["host"] = seat.name
    if seat.name not in [host.get("name") for host in body["hosts"]]:
        body["hosts"].append(seat.as_json())
    body.pop("devices", None)
    if devices:
        body["devices"] = list(devices)
    return json.dumps(body, ensure_ascii=False, indent=1)


@dataclass(frozen=True)
class RankEnd:
    rank: int
    host: str
    code: int | None
    signal: int | None = None
    seconds: float | None = None
    max_rss_kb: int | None = None

    @staticmethod
    def read(value: Mapping[str, Any]) -> RankEnd:  # Any: foreign JSON, checked field by field
        return RankEnd(
            rank=int(value.get("rank", -1)),
            host=str(value.get("host", "?")),
            code=value.get("code"),
            signal=value.get("signal"),
            seconds=value.get("seconds"),
            max_rss_kb=value.get("max_rss_kb"),
        )


@dataclass(frozen=True)
class JobRecord:
    """What the supervisor wrote when the job ended."""

    job: str
    state: str
    code: int | None
    started: float
    finished: float
    ranks: tuple[RankEnd, ...] = ()
    first_failure: RankEnd | None = None

    @property
    def seconds(self) -> float:
        return max(0.0, self.finished - self.started)

    @staticmethod
    def read(text: str) -> JobRecord | None:
        try:
            value = json.loads(text)
            first = value.get("first_failure")
            return JobRecord(
                job=str(value["job"]),
                state=str(value["state"]),
                code=value.get("code"),
                started=float(value["started"]),
                finished=float(value["finished"]),
                ranks=tuple(RankEnd.read(rank) for rank in value.get("ranks", ())),
                first_failure=RankEnd.read(first) if first else None,
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
