"""record.json, which the supervisor writes and the controller reads: what a job is doing, and how it ended. Pure.

The controller did not write record.json, so its fields are checked one by one: a missing or wrong value becomes a
default. A text that lacks the job, its state or the time of its start is not a valid record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hvdocker.protocol.json_values import integer, mapping, mappings, number, texts
from hvdocker.protocol.marks import Mark
from hvdocker.protocol.rank_messages import RankEnd

RECORD_FILE = "record.json"
# The exit code of a master by the final state of its job; 143 is 128 + SIGTERM.
EXIT_CODES = {"succeeded": 0, "failed": 1, "stopped": 143}


@dataclass(frozen=True)
class Attempt:
    """One run of the launcher, numbered from 1; every restart is a new attempt. Times are seconds since the epoch;
    `finished` is None while it runs. `np` is the number of ranks. `launcher_code` is the exit code of the launcher.
    `first_failure` is the rank that failed first (None if none did), `lost_hosts` are hosts that stopped responding."""

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
        first = mapping(value.get("first_failure"))
        return Attempt(
            number=integer(value.get("number")) or 0,
            started=number(value.get("started")),
            finished=number(value.get("finished")),
            np=integer(value.get("np")),
            hosts=texts(value.get("hosts")),
            launcher_code=integer(value.get("launcher_code")),
            first_failure=RankEnd.read(first) if first else None,
            lost_hosts=texts(value.get("lost_hosts")),
        )


@dataclass
class AttemptRecord:
    """An Attempt as the supervisor writes it, which changes while the attempt runs. The fields are keys in record.json.
    `first_failure` is the exit mark (the message that reports a rank's end) of the rank that failed first."""

    number: int
    started: float
    np: int
    hosts: list[str]
    finished: float | None = None
    launcher_code: int | None = None
    first_failure: Mark | None = None
    lost_hosts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RuleMatch:
    """A line of output that a log rule of the inventory matched, with the rank and the host that printed it. `pattern`
    is the regular expression of the rule. `rank` is None and `host` is `?` if the record does not name them."""

    pattern: str
    line: str
    rank: int | None
    host: str

    def as_json(self) -> dict[str, object]:
        return asdict(self)

    @staticmethod
    def read(value: Mapping[str, Any]) -> RuleMatch:  # Any: as above
        return RuleMatch(
            pattern=str(value.get("pattern", "")),
            line=str(value.get("line", "")),
            rank=integer(value.get("rank")),
            host=str(value.get("host") or "?"),
        )


@dataclass(frozen=True)
class DroppedHost:
    """A host whose ranks failed `times` times in a row soon after their start. `how` describes the last failure. `then`
    is what the supervisor did: `drop` (the job goes on without the host), or `end` (the run of the launcher was ended,
    because the host is the head, which a job cannot do without)."""

    host: str
    times: int
    how: str
    then: str

    def as_json(self) -> dict[str, object]:
        return asdict(self)

    @staticmethod
    def read(value: Mapping[str, Any]) -> DroppedHost:  # Any: as above
        return DroppedHost(
            host=str(value.get("host") or "?"),
            times=integer(value.get("times")) or 0,
            how=str(value.get("how") or "?"),
            then=str(value.get("then") or ""),
        )


@dataclass(frozen=True)
class Hang:
    """A hang of a job: no rank made progress for `after_s` seconds. `odd_rank` on `odd_host` is the rank that the
    others seem to wait for (None and empty if unknown), and `why` says how this was determined. `bundle` is the name of
    the folder with the stacks of the ranks, in the job's logs; empty if it could not be written. `then` is what the
    supervisor did: `wait` (nothing), `kill` (it ended the job) or `restart`; empty if unknown."""

    after_s: float
    odd_rank: int | None = None
    odd_host: str = ""
    why: str = ""
    bundle: str = ""
    then: str = ""

    def as_json(self) -> dict[str, object]:
        odd = None if self.odd_rank is None else {"rank": self.odd_rank, "host": self.odd_host}
        return {"after_s": self.after_s, "odd": odd, "why": self.why, "bundle": self.bundle, "then": self.then}

    @staticmethod
    def read(value: Mapping[str, Any]) -> Hang:  # Any: as above
        odd = mapping(value.get("odd"))
        return Hang(
            after_s=number(value.get("after_s")) or 0.0,
            odd_rank=integer(odd.get("rank")),
            odd_host=str(odd.get("host") or ""),
            why=str(value.get("why") or ""),
            bundle=str(value.get("bundle") or ""),
            then=str(value.get("then") or ""),
        )


@dataclass(frozen=True)
class RecordContent:
    """The content of record.json as the supervisor writes it; JobRecord, which reads it, explains the fields. `ranks`
    has one entry for each rank that has started. It says when and, if the rank has ended, when and how it ended."""

    job: str
    cluster: str
    state: str
    started: float
    finished: float | None
    ranks: Sequence[Mark]
    attempts: Sequence[AttemptRecord]
    dropped_by_rule: Sequence[RuleMatch]
    dropped_hosts: Sequence[DroppedHost]
    stopped_by_rule: RuleMatch | None
    hang: Hang | None
    output_lines: int
    versions: Mapping[str, str]
    launcher: str = ""
    launcher_reason: str = ""

    def as_json(self) -> Mapping[str, object]:
        last = self.attempts[-1] if self.attempts else None
        return {
            "job": self.job,
            "cluster": self.cluster,
            "state": self.state,
            "code": EXIT_CODES.get(self.state),
            "launcher": self.launcher,
            "launcher_reason": self.launcher_reason,
            "launcher_code": last.launcher_code if last else None,
            "started": self.started,
            "finished": self.finished,
            "ranks": list(self.ranks),
            "first_failure": last.first_failure if last else None,
            "lost_hosts": last.lost_hosts if last else [],
            "restarts": max(0, len(self.attempts) - 1),
            "attempts": [asdict(attempt) for attempt in self.attempts],
            "dropped": [match.as_json() for match in self.dropped_by_rule],
            "struck": [dropped.as_json() for dropped in self.dropped_hosts],
            "stopped_by_rule": self.stopped_by_rule.as_json() if self.stopped_by_rule else None,
            "hang": self.hang.as_json() if self.hang else None,
            "output_lines": self.output_lines,
            "versions": dict(self.versions),
        }


@dataclass(frozen=True)
class JobRecord:
    """The record.json of a supervisor, written at the start of the job and at every change.

    `state` is `running`, `succeeded`, `failed` or `stopped`; if a supervisor is killed, it stays `running`. `code`
    is the exit code of the master (the job's container on its head, in which the supervisor runs), and None while
    the job runs. `started` and `finished` are seconds since the epoch; `finished` is 0 while the job runs. `ranks`
    has an entry for each rank that has started, and `attempts` one for each run of the launcher. `restarts` counts
    the restarts of the launcher in this master, not those before it was created. `first_failure`, `lost_hosts` and
    `hang` are those of the last attempt. `dropped_by_rule` has the output lines that matched a log rule which then
    dropped the host of the line. `dropped_hosts` are hosts whose ranks kept failing. `stopped_by_rule` is the
    output line that matched a log rule which forbids further restarts. `versions` maps installed packages, and
    `python`, to their versions. `output_lines` counts the lines that the launcher wrote in attempts that are over;
    0 if an older image did not count them. `launcher` is the name of the launcher, and `launcher_reason` says what
    chose it."""

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
    launcher: str = ""
    launcher_reason: str = ""

    @property
    def seconds(self) -> float:
        return max(0.0, self.finished - self.started)

    @staticmethod
    def read(text: str) -> JobRecord | None:
        """Parse the text of a record.json; return None if it is not a valid record."""
        try:
            value = json.loads(text)
            first, stopped, hang = (mapping(value.get(key)) for key in ("first_failure", "stopped_by_rule", "hang"))
            return JobRecord(
                job=str(value["job"]),
                state=str(value["state"]),
                code=integer(value.get("code")),
                started=float(value["started"]),
                finished=float(value.get("finished") or 0.0),
                ranks=tuple(RankEnd.read(rank) for rank in value.get("ranks", ())),
                first_failure=RankEnd.read(first) if first else None,
                restarts=integer(value.get("restarts")) or 0,
                attempts=tuple(Attempt.read(one) for one in mappings(value.get("attempts"))),
                lost_hosts=texts(value.get("lost_hosts")),
                dropped_by_rule=tuple(RuleMatch.read(one) for one in mappings(value.get("dropped"))),
                dropped_hosts=tuple(DroppedHost.read(one) for one in mappings(value.get("struck"))),
                stopped_by_rule=RuleMatch.read(stopped) if stopped else None,
                hang=Hang.read(hang) if hang else None,
                versions={str(name): str(one) for name, one in mapping(value.get("versions")).items()},
                output_lines=integer(value.get("output_lines")) or 0,
                launcher=str(value.get("launcher") or ""),
                launcher_reason=str(value.get("launcher_reason") or ""),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
