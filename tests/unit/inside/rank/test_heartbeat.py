"""Signs of life of a rank, and what they measure."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inside.rank.heartbeat import Heartbeat, beat_interval_s
from inside.rank.masking import Masker
from inside.rank.relay import Relay
from inside.rank.usage import TICKS_PER_S, Usage, UsageMeter
from inside.runtime.processes import parse_stat, session_and_descendants

from hvdocker.protocol.marks import extract_mark
from hvdocker.protocol.rank_messages import RankWho


class Still(UsageMeter):
    """Nothing to measure."""

    def __init__(self) -> None:
        super().__init__(0, 2, Path("/nowhere"))


class Stream:
    """A relay between two pipes."""

    def __init__(self) -> None:
        self.source, self.feed = os.pipe()
        self.reader, self.target = os.pipe()
        self.relay = Relay(self.source, self.target, Masker(()))

    def command_writes(self, data: bytes) -> None:
        os.write(self.feed, data)
        self.relay.read_or_write()
        self.relay.read_or_write()
        assert os.read(self.reader, 100) == data

    def beat(self) -> dict[str, Any] | None:  # Any: JSON
        if not self.relay.is_writing:
            return None
        self.relay.read_or_write()
        return extract_mark(os.read(self.reader, 1000))[1]

    def close(self) -> None:
        for fd in (self.source, self.feed, self.reader, self.target):
            os.close(fd)


class Setting:
    def __init__(self) -> None:
        self.now = 100.0
        self.err, self.out = Stream(), Stream()
        relays = (self.err.relay, self.out.relay)
        self.beats = Heartbeat(RankWho(1, "b", "x"), Still(), relays, 5, lambda: self.now)

    def at(self, now: float) -> list[bool]:
        """Whether a beat went out at that time on stderr, on stdout."""
        self.now = now
        self.beats.tick()
        return [self.err.beat() is not None, self.out.beat() is not None]


@pytest.fixture
def setting() -> Any:  # Any: what the fixture yields
    made = Setting()
    yield made
    made.err.close()
    made.out.close()


def test_a_beat_tells_what_was_used_and_written(setting: Setting) -> None:
    setting.err.command_writes(b"12\n")
    setting.out.command_writes(b"345\n")
    setting.now = 105
    setting.beats.tick()
    used = {"cpu_s": 0.0, "work_s": 0.0, "rss_kb": 0, "out_bytes": 7}
    assert setting.err.beat() == {"event": "rank-beat", "rank": 1, "host": "b", **used}


def test_beats_come_when_they_are_due(setting: Setting) -> None:
    assert [setting.at(now)[0] for now in (104, 105, 106, 109, 110.5)] == [False, True, False, False, True]


def test_no_line_of_the_command_is_cut(setting: Setting) -> None:
    setting.err.command_writes(b"50%")
    assert setting.at(105) == [False, True]
    setting.out.command_writes(b"unended")
    assert setting.at(110) == [False, False]
    setting.err.command_writes(b"\r")
    assert setting.at(111) == [True, False]


def test_who_stops_in_mid_line_still_lives(setting: Setting) -> None:
    setting.err.command_writes(b"waiting")
    setting.out.command_writes(b"waiting")
    assert setting.at(105) == [False, False]
    assert setting.beats.wait_ms() == 5001
    assert setting.at(110) == [True, False]


def test_while_nobody_reads_beats_do_not_pile_up(setting: Setting) -> None:
    for stream in (setting.err, setting.out):
        os.write(stream.feed, b"words\n")
        stream.relay.read_or_write()
    for now in range(105, 200, 5):
        setting.now = now
        setting.beats.tick()
    assert setting.beats.wait_ms() > 0
    setting.err.relay.read_or_write()
    assert os.read(setting.err.reader, 100) == b"words\n"
    assert not setting.err.relay.is_writing


@pytest.mark.parametrize(("hang_after_s", "every_s"), [(600, 5), (8, 2), (1, 0.5), (0, 5)])
def test_a_beat_is_a_quarter_of_the_patience(hang_after_s: float, every_s: float) -> None:
    assert beat_interval_s(hang_after_s) == every_s


def stat(pid: int, parent: int, session: int, own: int, reaped: int = 0, pages: int = 0) -> str:
    times = f"{own} 0 {reaped} 0"
    return f"{pid} (a (odd) name) S {parent} 1 {session} 0 -1 0 0 0 0 0 {times} 0 0 0 0 0 0 {pages} 0\n"


class Table:
    """A /proc of our own."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc
        self.now = 0.0
        (proc / "self").mkdir()

    def put(self, pid: int, parent: int, session: int, *own: int, reaped: int = 0, pages: int = 0) -> None:
        folder = self.proc / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "stat").write_text(stat(pid, parent, session, sum(own), reaped, pages))
        for number, ticks in enumerate(own):
            tid = pid * 100 + number if number else pid
            task = folder / "task" / str(tid)
            task.mkdir(parents=True, exist_ok=True)
            (task / "stat").write_text(stat(tid, parent, session, ticks, reaped))

    def end(self, pid: int) -> None:
        (self.proc / str(pid) / "stat").unlink()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def test_a_process_is_read_whatever_its_name() -> None:
    process = parse_stat(stat(7, 5, 6, 300, 20, 9).encode())
    assert process == (7, "a (odd) name", "S", 5, 6, 300, 20, 9)


def test_a_rank_is_its_session_and_what_came_from_it(table: Table) -> None:
    for pid, parent, session in ((9, 1, 9), (4, 9, 9), (12, 9, 12), (13, 12, 12), (20, 1, 20)):
        table.put(pid, parent, session)
    assert [process.pid for process in session_and_descendants(9, table.proc)] == [9, 4, 12, 13]


def test_processor_time_does_not_go_back_and_new_work_is_seen_at_once(table: Table) -> None:
    meter = UsageMeter(9, 2, table.proc)
    table.put(9, 1, 9, 100, pages=2)
    table.put(10, 9, 9, 500, reaped=50, pages=3)
    page_kb = os.sysconf("SC_PAGE_SIZE") // 1024
    first = meter.read()
    assert (first.cpu_s, first.rss_kb) == (650 / TICKS_PER_S, 5 * page_kb)
    table.end(10)
    assert meter.read().cpu_s == 650 / TICKS_PER_S
    table.put(9, 1, 9, 101)
    assert meter.read().cpu_s == 651 / TICKS_PER_S


def used_in_five_seconds(table: Table, *own: int, reaped: int = 0) -> Usage:
    meter = UsageMeter(9, 2, table.proc, lambda: table.now)
    table.put(9, 1, 9, *(0 for _ in own))
    meter.read()
    table.now += 5
    table.put(9, 1, 9, *own, reaped=reaped)
    return meter.read()


@pytest.mark.parametrize(
    ("shares", "reaped", "work"),
    [
        # The cycle and its transport: nothing goes on.
        ((0, 0.26, 0.06, 0), 0, 0),
        # The main thread, though the host is loaded; other threads, a busy one, programs that came and went.
        ((0.2, 0.26, 0.06), 0, 0.2),
        ((0.2,), 0, 0.2),
        ((0, 0.26, 0.06, 0.02), 0, 0.02),
        ((0, 0.9, 0.26, 0.06), 0, 0.96),
        ((0, 0.26, 0.06), 0.2, 0.2),
    ],
)
def test_the_cycle_of_horovod_is_no_work(table: Table, shares: tuple[float, ...], reaped: float, work: float) -> None:
    ticks = [round(share * 5 * TICKS_PER_S) for share in shares]
    usage = used_in_five_seconds(table, *ticks, reaped=round(reaped * 5 * TICKS_PER_S))
    assert usage.work_s == pytest.approx(work * 5)
    assert usage.cpu_s == pytest.approx(5 * (sum(shares) + reaped))


def test_a_real_process_is_measured() -> None:
    script = "while sum(__import__('os').times()[:2]) < 0.2: pass\nprint('ready', flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    usage = UsageMeter(process.pid, 2).read()
    assert usage.cpu_s >= 0.15 and usage.rss_kb > 1000
    process.communicate(b"\n", timeout=60)
    assert json.dumps(usage._asdict())
