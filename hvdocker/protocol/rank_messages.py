"""The content of a rank's messages. A rank sends marks to the supervisor at its start, during its run and at its end.
The content of the last mark is also written to rank-N.json on the host of the rank. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from signal import Signals
from typing import Any

from hvdocker.protocol.json_values import integer, number
from hvdocker.protocol.marks import Mark

RANK_START, RANK_BEAT, RANK_EXIT = "rank-start", "rank-beat", "rank-exit"


@dataclass(frozen=True)
class RankWho:
    """The sender of a message: the number of the rank, its host, and the training address of that host."""

    rank: int
    host: str
    address: str

    def as_json(self) -> Mark:
        return {"rank": self.rank, "host": self.host, "address": self.address}


def start_mark(who: RankWho, started: float, interface: str | None) -> Mark:
    """Return the message that the command of a rank is about to start, at the time `started` (seconds since the epoch).
    `interface` is the network interface with the training address, None if it was not found."""
    return {"event": RANK_START, **who.as_json(), "started": started, "interface": interface}


def beat_mark(who: RankWho, cpu_s: float, work_s: float, rss_kb: int, out_bytes: int) -> Mark:
    """Return the heartbeat of a rank. `cpu_s` is all its CPU time in seconds, `work_s` the CPU time without background
    threads that never rest, `rss_kb` its memory in KiB, and `out_bytes` the size of its output so far."""
    usage = {"cpu_s": cpu_s, "work_s": work_s, "rss_kb": rss_kb, "out_bytes": out_bytes}
    return {"event": RANK_BEAT, "rank": who.rank, "host": who.host, **usage}


def exit_mark(record: Mark) -> Mark:
    """Return the message that a rank has ended. `record` is the content of its rank-N.json (`exit_record`)."""
    return {"event": RANK_EXIT, **record}


def exit_record(
    who: RankWho,
    how: Mapping[str, int | None],
    is_oom: bool,
    was_asked: bool,
    started: float,
    finished: float,
    seconds: float,
) -> Mark:
    """Return the content of rank-N.json. `how` has the keys `code`, `signal` and `max_rss_kb`, with the meaning that
    they have in RankEnd. `is_oom` says that memory ran out, `was_asked` that the rank did not end by itself: the rank
    wrapper ended its command. `started` and `finished` are seconds since the epoch, `seconds` is the run time."""
    ended = {"oom": is_oom, "asked": was_asked, "seconds": seconds, "started": started, "finished": finished}
    return {**who.as_json(), **how, **ended}


@dataclass(frozen=True)
class RankEnd:
    """How a rank ended, from its messages. `code` is its exit code: 128 + `signal` if a signal killed it, None if it
    still runs or the code is unknown. `signal` is the number of that signal, else None. `seconds` is how long it ran.
    `max_rss_kb` is its peak memory, `was_oom_killed` says that memory ran out. `interface` is the network interface
    with its training address, empty if unknown."""

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
        """The name of the signal, such as SIGKILL; `signal N` if the controller knows no signal with the number N."""
        try:
            return Signals(self.signal or 0).name
        except ValueError:
            return f"signal {self.signal}"

    @staticmethod
    def read(value: Mapping[str, Any]) -> RankEnd:  # Any: foreign JSON, checked field by field
        return RankEnd(
            rank=int(value.get("rank", -1)),
            host=str(value.get("host") or "?"),
            code=integer(value.get("code")),
            signal=integer(value.get("signal")),
            seconds=number(value.get("seconds")),
            max_rss_kb=integer(value.get("max_rss_kb")),
            was_oom_killed=value.get("oom") is True,
            interface=str(value.get("interface") or ""),
        )
