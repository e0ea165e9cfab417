"""What a person sees while hosts work: a live table on a terminal, plain lines elsewhere."""

import io
import threading

import pytest
from rich.console import Console

from hvdocker.console.progress import Progress
from hvdocker.console.style import _THEME
from hvdocker.events import Event

MIB = 1 << 20


def console(width: int = 80, is_terminal: bool = True) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=is_terminal,
        width=width,
        theme=_THEME,
        highlight=False,
        record=True,
    )


def shown(*events: Event, width: int = 80) -> list[str]:
    """The table after these events, as a terminal of that width would show it."""
    terminal = console(width)
    with Progress(terminal) as progress:
        for event in events:
            progress(event)
        drawing = console(width)
        drawing.print(progress._view())
    return drawing.export_text().splitlines()


def test_a_row_says_who_is_how_far_with_what() -> None:
    half = Event("image", "load x:y from this machine", "gpu-a", done=15 * MIB, total=30 * MIB)
    whole = Event("image", "load x:y from this machine", "gpu-b", done=30 * MIB, total=30 * MIB)
    assert shown(half, whole) == [
        f"image      gpu-a        {'━' * 10}{'╌' * 10}  50% load x:y from this machine",
        f"image      gpu-b        {'━' * 20} 100% load x:y from this machine",
    ]


def test_work_that_takes_long_shows_its_time() -> None:
    times = iter([0.0, 0.5, 12.4])
    terminal = console()
    with Progress(terminal, now=lambda: next(times, 12.4)) as progress:
        progress._live = None
        progress._keep(Event("connect", "connecting to gpu-a, gpu-b"))
        progress._keep(Event("connect", "waiting for gpu-b"))
        drawing = console()
        drawing.print(progress._view())
    assert drawing.export_text().splitlines() == ["connect                 waiting for gpu-b  12 s"]


def test_of_what_has_no_known_end_the_bytes_are_shown() -> None:
    reading = Event("image", "reading x:y", "this machine", done=3 * MIB, total=0)
    assert shown(reading) == ["image      this machine   3.0 MB reading x:y"]


def test_a_step_that_counts_nothing_has_no_bar() -> None:
    assert shown(Event("containers", "start worker", "a")) == ["containers a            start worker"]


@pytest.mark.parametrize(("done", "filled", "percent"), [(0, 0, 0), (1, 0, 1), (99, 19, 99), (120, 20, 100)])
def test_a_bar_is_full_at_the_end_and_not_before(done: int, filled: int, percent: int) -> None:
    bar = f"{'━' * filled}{'╌' * (20 - filled)} {percent:>3}% x"
    assert shown(Event("image", "x", "a", done=done, total=100)) == [f"{'image':<10} {'a':<12} {bar}"]


def test_a_host_has_one_row_which_goes_at_the_end() -> None:
    events = [Event("image", "x", "a", done=done, total=4) for done in (1, 2, 3)]
    assert len(shown(*events)) == 1 and " 75% " in shown(*events)[0]
    assert shown(*events, Event("image", "x", "a", is_end=True)) == []


def test_a_row_never_wraps() -> None:
    (row,) = shown(Event("image", "load " + "x" * 100, "a", done=1, total=2), width=50)
    assert len(row) == 50 and row.endswith("…")


def test_hosts_that_do_not_fit_are_counted() -> None:
    events = [Event("image", "x", f"h{number}", done=number, total=100) for number in range(1, 21)]
    lines = shown(*events)
    assert [line.split()[1] for line in lines[:-1]] == [f"h{number}" for number in range(9, 21)]
    assert lines[-1].strip() == "and 8 more"
    assert "more" not in shown(*events[:12])[-1]


def test_the_terminal_gets_the_table_and_its_colours() -> None:
    terminal = console()
    with Progress(terminal) as progress:
        progress(Event("image", "load x:y", "gpu-a", done=1, total=4))
    assert isinstance(terminal.file, io.StringIO)
    drawn = terminal.file.getvalue()
    assert "gpu-a" in drawn and " 25% " in drawn and "\x1b[" in drawn


def test_without_a_terminal_every_step_is_one_line() -> None:
    plain = console(is_terminal=False)
    with Progress(plain) as progress:
        for done in (1, 2, 3):
            progress(Event("image", "load x:y", "a", done=done, total=4))
        progress(Event("image", "load x:y", "a", is_end=True))
    assert plain.export_text() == "image      a            load x:y\n"


def test_quiet_is_quiet() -> None:
    for is_terminal in (True, False):
        terminal = console(is_terminal=is_terminal)
        with Progress(terminal, is_quiet=True) as progress:
            progress(Event("image", "load x:y", "a"))
        assert terminal.export_text() == ""


def test_a_note_stays_on_the_terminal_when_the_table_is_gone() -> None:
    terminal = console()
    with Progress(terminal) as progress:
        progress(Event("note", "took over the stale lock of ada", "gpu-a"))
        assert progress._rows == {}
    assert "note       gpu-a        took over the stale lock of ada" in terminal.export_text()


class HandTimer(threading.Timer):
    """A timer that runs out when the test says so."""

    def start(self) -> None:
        made.append(self)


made: list[HandTimer] = []


def test_without_a_terminal_a_slow_connection_is_told_once() -> None:
    made.clear()
    pipe = console(is_terminal=False)
    with Progress(pipe, timer=HandTimer) as progress:
        progress(Event("connect", "connecting to a, b"))
        progress(Event("connect", "waiting for b"))
        assert pipe.export_text(clear=False) == ""
        (timer,) = made
        timer.function()
        progress(Event("connect", "connected", is_end=True))
    assert pipe.export_text().split() == ["connect", "waiting", "for", "b"]


def test_a_fast_connection_is_not_told() -> None:
    made.clear()
    pipe = console(is_terminal=False)
    with Progress(pipe, timer=HandTimer) as progress:
        progress(Event("connect", "connecting to a"))
        progress(Event("connect", "connected", is_end=True))
        (timer,) = made
        timer.function()
    assert pipe.export_text() == "" and timer.finished.is_set()
