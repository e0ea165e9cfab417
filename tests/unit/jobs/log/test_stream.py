"""A job's output over links that break: every line once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.jobs import job_container
from hvdocker.jobs.log.stream import LogReader
from hvdocker.observe.state import ClusterState
from hvdocker.protocol.output import Line
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import host_seen, master, state_of

PLACEMENT = Placement((Share("a", 1), Share("b", 1)))


def at(second: int, text: str, nanos: int = 0) -> bytes:
    return f"2026-11-17T08:00:{second:02d}.{nanos:09d}Z {text}".encode()


@dataclass
class Engine:
    """Keeps a log of stamped pieces as engines do; `breaks` says after how many pieces each stream is cut."""

    log: list[bytes]
    breaks: list[int | None] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    ends_silently: bool = False
    first: int = 0

    def logs(self, container: str, stream: bool, timestamps: bool, **words: Any) -> Iterator[bytes]:
        assert timestamps and stream
        self.asked.append(words)
        limit = self.breaks.pop(0) if self.breaks else None
        for number, piece in enumerate(self._from(**words)):
            if number == limit:
                if self.ends_silently:
                    return
                raise ConnectionResetError("cut")
            yield piece

    def _from(self, follow: bool, since: int = 0, tail: int | str = "all") -> list[bytes]:
        base = 1794902400  # 2026-11-17T08:00:00Z
        whole = self.log[self.first :]
        kept = [one for one in whole if not one[:1].isdigit() or base + int(one[17:19]) >= since]
        return kept if tail == "all" else kept[len(kept) - int(tail) :]


@dataclass
class Link:
    engine_: Engine
    name: str = "a"

    def engine(self) -> Engine:
        return self.engine_


def read(engine: Engine, tail: int | None = None, can_again: bool = True) -> list[bytes]:
    link = Link(engine)
    again: Callable[[HvdockerError], Any] | None = (lambda error: Link(engine)) if can_again else None
    return list(LogReader(link, "job", lambda now: bool(engine.breaks), again, tail).pieces())


LOG = [at(1, "one\n"), at(1, "one\n"), at(2, "[0]<stdout>:two\n"), at(9, "three\n"), at(9, "four\n", 7)]
TEXTS = [piece.partition(b" ")[2] for piece in LOG]


@pytest.mark.parametrize("breaks", [[], [0], [1], [2], [3, 1], [4, 0, 2], [5]])
@pytest.mark.parametrize("ends_silently", [False, True])
def test_every_piece_once_wherever_it_is_cut(breaks: list[int], ends_silently: bool) -> None:
    assert read(Engine(LOG, [*breaks], ends_silently=ends_silently)) == TEXTS


def test_reading_goes_on_by_time() -> None:
    engine = Engine(LOG, [4])
    read(engine)
    assert engine.asked == [
        {"follow": True, "tail": "all"},
        {"follow": True, "since": 1794902401},
        {"follow": False, "since": 1794902401},
    ]


def test_pieces_that_were_written_in_another_order_than_they_were_stamped() -> None:
    log = [at(3, "out\n", 5), at(3, "err\n", 1), at(2, "late\n", 9), at(4, "end\n")]
    assert read(Engine([at(1, "begin\n"), *log], [3])) == [
        b"begin\n",
        b"out\n",
        b"err\n",
        b"late\n",
        b"end\n",
    ]


def test_an_engine_that_begins_a_new_log_file_and_goes_back_tells_nothing_twice() -> None:
    """Seen with Docker 20.10: what was read of the new file came once more."""
    older = [at(1, f"old {n}\n", n) for n in range(5)]
    newer = [at(second, f"new {n}\n", n) for second in range(2, 30) for n in range(5)]
    for replayed in (newer[:60], newer):
        told = read(Engine([*older, *replayed, *newer]))
        assert told == [piece.partition(b" ")[2] for piece in (*older, *newer)]


def test_a_clock_that_was_set_back_loses_no_line() -> None:
    log = [
        at(40, "before\n"),
        at(41, "before\n"),
        at(42, "before\n"),
        at(43, "x\n"),
        at(1, "after\n"),
        at(2, "after\n"),
    ]
    assert len(read(Engine(log))) == len(log)


def test_old_pieces_that_the_engine_dropped_meanwhile_are_not_missed() -> None:
    engine = Engine(LOG, [4])
    reading = LogReader(Link(engine), "job", lambda now: False, lambda error: Link(engine))
    pieces = reading.pieces()
    seen = [next(pieces) for _ in range(4)]
    engine.first = 3
    assert [*seen, *pieces] == TEXTS


def test_what_carries_no_stamp_passes_as_it_is() -> None:
    assert read(Engine([at(1, "one\n"), b"an engine's own words\n"]))[1] == b"an engine's own words\n"


def test_the_last_lines_first() -> None:
    assert read(Engine(LOG), tail=2) == TEXTS[-2:]


def test_without_another_link_a_break_is_an_error() -> None:
    with pytest.raises(HostUnreachable, match="the connection was lost: reading the job's output"):
        read(Engine(LOG, [2]), can_again=False)


def test_a_line_that_was_cut_in_the_middle_is_one_line() -> None:
    engine = Engine([at(1, "[1]<stdout>:half a "), at(1, "line\n"), at(2, "[0]<stderr>:end\n")], [1])
    link = Link(engine)
    reading = LogReader(link, "job", lambda now: False, lambda error: link)
    assert list(job_container._parsed(reading.pieces(), PLACEMENT)) == [
        Line("half a line", 1, "b"),
        Line("end", 0, "a", True),
    ]


@pytest.mark.parametrize(("old", "new"), [("exited", "running"), ("exited", "exited"), ("running", "exited")])
def test_of_two_masters_of_a_job_the_one_that_runs_is_meant_else_the_newest(old: str, new: str) -> None:
    first = master("train-abcd", '{"a":1}', old, created=1)
    second = master("train-abcd", '{"b":1}', new, host="b", created=2)
    second = type(second)(**{**vars(second), "id": "other"})
    state: ClusterState = state_of(host_seen("a", containers=(first,)), host_seen("b", containers=(second,)))
    wanted = first if old == "running" else second
    assert job_container.newest_masters(state) == {"train-abcd": wanted}
