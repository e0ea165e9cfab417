"""Shows progress on stderr: on a terminal a live table of what every host does, elsewhere plain lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from threading import Timer
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from hvdocker.console.output_screen import OutputScreen
from hvdocker.events import Event
from hvdocker.units import show_bytes

_MOST_ROWS = 12
# Work that takes longer shows its time.
_LONG_S = 2


class Progress:
    """A listener that shows the events of a verb while its `with` block runs.

    On a terminal the events are shown as a live table, elsewhere as lines. With `is_quiet` no events are shown."""

    def __init__(
        self,
        console: Console,
        is_quiet: bool = False,
        now: Callable[[], float] = time.monotonic,
        timer: Callable[[float, Callable[[], None]], Timer] = threading.Timer,
    ) -> None:
        self._now = now
        self._console = console
        self._is_quiet = is_quiet
        self._lock = threading.Lock()
        self._rows: dict[str, Event] = {}
        self._began: dict[str, float] = {}
        self._said: set[tuple[str, str | None, str]] = set()
        self._live: Live | None = None
        self._screen: OutputScreen | None = None
        # Without a live table: the last event while the hosts are being connected to, and what prints it.
        self._connecting: Event | None = None
        self._timer = timer
        self._late: Timer | None = None

    def __enter__(self) -> Progress:
        if self._console.is_terminal and not self._is_quiet:
            self._live = Live(console=self._console, transient=True, refresh_per_second=8, get_renderable=self._view)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connecting = None
        self._stop_timer()
        self.pause()

    def pause(self) -> None:
        """Stop the live table for good, because a question or the output of a job needs the terminal.

        Later events are printed as lines. If `output_screen` returned a screen, that screen is closed too."""
        if self._live:
            self._live.stop()
            self._live = None
        if screen := self._screen:
            self._screen = None
            screen.close()

    def output_screen(self, console: Console) -> OutputScreen:
        """Stop the live table and return a screen for the output of a job. While the screen is open, events and
        other lines are printed between its lines."""
        self.pause()
        self._screen = OutputScreen(console)
        return self._screen

    def print_line(self, text: str | Text, style: str | None = None) -> None:
        """Print a line that is no event, even with `is_quiet`. `style` is a style of rich, such as `quiet`. If a job's
        output is on the terminal, the line is printed between its lines."""
        with self._screen.suspended() if self._screen else nullcontext():
            self._console.print(text, style=style)

    def print_hook_line(self, line: bytes) -> None:
        """Print a line that a hook (a program in .hvdocker/hooks/) wrote, even with `is_quiet`."""
        self.print_line(Text(line.decode("utf-8", "replace").rstrip("\r\n"), style="default"))

    def __call__(self, event: Event) -> None:
        if self._is_quiet:
            return
        if self._live and event.stage == "note":
            # A note stays above the table. Not under the lock: printing waits for the table to be drawn,
            # which takes the lock.
            self._console.print(_line(event))
            return
        with self._lock:
            if self._live:
                self._keep(event)
            else:
                self._print(event)

    def _keep(self, event: Event) -> None:
        key = f"{event.stage} {event.host or ''}"
        if event.is_end:
            self._rows.pop(key, None)
            self._began.pop(key, None)
        else:
            self._rows[key] = event
            self._began.setdefault(key, self._now())

    def _print(self, event: Event) -> None:
        """Print an event as a line, because there is no live table. Each text is printed once per stage (kind of work)
        and host, without counters. Events with `is_end` are left out."""
        if event.stage == "connect":
            self._print_if_late(event)
            return
        mark = (event.stage, event.host, event.text)
        if event.is_end or mark in self._said:
            return
        self._said.add(mark)
        self.print_line(_line(event))

    def _print_if_late(self, event: Event) -> None:
        """If connecting takes longer than _LONG_S, print the latest event about it, such as `waiting for gpu-b`. Most
        often it takes less, and a line at the beginning of each verb would say nothing.

        Print nothing on a terminal. There the live table has shown these events until it was stopped for a question or
        for the output of a job."""
        if self._console.is_terminal:
            return
        self._connecting = None if event.is_end else event
        if self._connecting is None:
            self._stop_timer()
        elif self._late is None:
            self._late = self._timer(_LONG_S, self._print_connecting)
            self._late.daemon = True
            self._late.start()

    def _print_connecting(self) -> None:
        with self._lock:
            if self._connecting:
                self.print_line(_line(self._connecting))

    def _stop_timer(self) -> None:
        if self._late:
            self._late.cancel()
            self._late = None

    def _view(self) -> Group:
        with self._lock:
            events = list(self._rows.values())
            waited = [self._now() - began for began in self._began.values()]
        width = self._console.width
        rows = [_row(event, seconds, width) for event, seconds in [*zip(events, waited, strict=True)][-_MOST_ROWS:]]
        if len(events) > _MOST_ROWS:
            rows.append(Text(f"{'':<11}and {len(events) - _MOST_ROWS} more"))
        return Group(*rows)


def _line(event: Event) -> str:
    return f"{event.stage:<10} {event.host or '':<12} {event.text}"


def _row(event: Event, seconds: float, width: int) -> Text:
    text = Text(f"{event.stage:<10} ", style="stage", no_wrap=True, overflow="ellipsis")
    text.append(f"{event.host or '':<12} ", style="bold")
    if event.done is not None:
        text.append(_bar(event.done, event.total), style="good")
    text.append(event.text, style="default")
    if seconds >= _LONG_S:
        text.append(f"  {seconds:.0f} s", style="quiet")
    text.truncate(width, overflow="ellipsis")
    return text


def _bar(done: int, total: int | None) -> str:
    if not total:
        return f"{show_bytes(done):>8} "
    filled = min(20, 20 * done // total)
    return f"{'━' * filled}{'╌' * (20 - filled)} {min(100, 100 * done // total):>3}% "
