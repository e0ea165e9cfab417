"""The output of a job on a terminal and in a file: lines, and the states of progress bars."""

import io
import os
import re

import pytest
from rich.text import Text

from hvdocker.console.output_screen import STILL_S, OutputScreen
from hvdocker.console.style import _THEME, SanitizedConsole
from hvdocker.console.views.job import JobView
from hvdocker.protocol.output import Line


class Terminal:
    """What a terminal shows after the text was written to it."""

    def __init__(self) -> None:
        self.rows = [""]

    def write(self, text: str) -> None:
        for piece in re.findall(r"\x1b\[\d+A|\x1b\[J|\x1b\[[\d;]*m|\n|[^\x1b\n]+", text):
            if piece == "\x1b[J":
                continue
            if found := re.fullmatch(r"\x1b\[(\d+)A", piece):
                assert self.rows[-1] == ""
                del self.rows[-1 - int(found[1]) :]
                self.rows.append("")
            elif piece == "\n":
                self.rows.append("")
            elif not piece.startswith("\x1b"):
                self.rows[-1] += piece


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def screen_of(file: io.StringIO, is_terminal: bool, clock: Clock) -> OutputScreen:
    # An interval passes with every look at the clock, so that the thread is not needed.
    def later() -> float:
        clock.now += 1.0
        return clock.now

    console = SanitizedConsole(
        file=file, force_terminal=is_terminal, width=40, height=24, theme=_THEME, highlight=False, soft_wrap=True
    )
    return OutputScreen(console, later)


def shown(*lines: Line, is_terminal: bool = True, is_closed: bool = False) -> list[str]:
    file, terminal = io.StringIO(), Terminal()
    screen = screen_of(file, is_terminal, Clock())
    view = JobView(screen)
    for line in lines:
        view(line)
    if is_closed:
        screen.close()
    terminal.write(file.getvalue())
    return [row for row in terminal.rows if row]


def state(text: str, rank: int) -> Line:
    return Line(text, rank, "h", is_error=True, is_state=True)


def test_a_progress_bar_is_redrawn_in_a_line_of_its_own_for_every_rank() -> None:
    bars = [state("10%", 0), state("10%", 1), state("20%", 1), Line("hello", 0, "h"), state("30%", 0)]
    assert shown(*bars) == ["0@h │ hello", "0@h │ 30%", "1@h │ 20%"]
    assert shown(*bars, Line("100%", 1, "h", is_error=True)) == ["0@h │ hello", "1@h │ 100%", "0@h │ 30%"]


def test_a_state_that_is_wider_than_the_terminal_takes_one_row() -> None:
    assert shown(state("x" * 100, 0)) == ["0@h │ " + "x" * 32 + "…"]


def test_without_a_terminal_only_final_states_are_lines() -> None:
    bars = [state("10%", 0), state("20%", 0), Line("100%", 0, "h", is_error=True), state("5%", 1)]
    assert shown(*bars, is_terminal=False) == ["0@h │ 100%"]
    assert shown(*bars, is_terminal=False, is_closed=True) == ["0@h │ 100%", "1@h │ 5%"]


def test_without_a_terminal_a_state_that_stands_still_becomes_a_line_once() -> None:
    file, clock = io.StringIO(), Clock()
    screen = screen_of(file, False, clock)
    screen.set_state(0, Text("waiting"))
    for _ in range(2):
        clock.now += STILL_S
        screen.add_line("other")
    screen.close()
    assert sorted(file.getvalue().splitlines()) == ["other", "other", "waiting"]


def test_a_line_is_written_though_no_other_follows() -> None:
    """Two lines in quick succession: the second one is written by the thread."""
    source, target = os.pipe()
    with os.fdopen(target, "w") as file:
        screen = OutputScreen(SanitizedConsole(file=file))
        screen.add_line("one")
        screen.add_line("two")
        read = b""
        while b"two\n" not in read:
            read += os.read(source, 100)
        screen.close()
    os.close(source)
    assert read == b"one\ntwo\n"


def test_a_pipe_that_nobody_reads_ends_the_output() -> None:
    source, target = os.pipe()
    file = os.fdopen(target, "w")
    screen = OutputScreen(SanitizedConsole(file=file))
    os.close(source)
    with pytest.raises(BrokenPipeError):
        screen.add_line("one")
    with pytest.raises(BrokenPipeError):
        file.close()
