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
                {"name": share.host, "address": self.addresses[share.host], "slots": share.slots}
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
