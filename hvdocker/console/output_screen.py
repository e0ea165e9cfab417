"""Writes the output of a job to stdout. On a terminal, the current states of progress bars are below the lines, one row
for each bar.

A job may print more lines than can be written one by one. So lines that come within INTERVAL_S after a write are
collected. They are written together with the first line after that time, or else by a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

# The shortest time between two writes. The terminal is redrawn this often.
INTERVAL_S = 0.1
# Without a terminal, a state that has not changed for this long is written as a line.
STILL_S = 10.0
MAX_ROWS = 12


@dataclass
class _State:
    """The current state of a progress bar.

    `text` is the text of the bar, and `since` the time at which it became so, by the screen's clock. `is_written` says
    that the text was already written as a line."""

    text: Text
    since: float
    is_written: bool = False


class OutputScreen:
    """Writes lines of output, and shows the current states of progress bars.

    A progress bar belongs to an owner (a rank and its stream), which has one bar at most. On a terminal the states are
    shown below the lines. Elsewhere a state is written as a line if it has not changed for STILL_S. `clock` returns the
    time in seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._is_live = console.is_terminal and not console.is_dumb_terminal
        self._lock = threading.RLock()
        self._lines: list[str] = []
        self._states: dict[Hashable, _State] = {}
        self._is_stale = False
        self._rows = 0
        self._next = 0.0
        self._failure: Exception | None = None
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def render(self, text: Text) -> str:
        """Return the text as the console would print it, with colours, without a newline at its end."""
        with self._console.capture() as capture:
            self._console.print(text, end="")
        return capture.get()

    def add_line(self, line: str, owner: Hashable = None) -> None:
        """Write a line that is ready for the terminal, such as the result of `render`.

        If `owner` (a rank and its stream) has a progress bar, its row below the lines disappears until the next
        `set_state`."""
        with self._lock:
            self._lines.append(line)
            self._is_stale |= self._states.pop(owner, None) is not None
            self._write_in_time()

    def set_state(self, owner: Hashable, text: Text) -> None:
        """Show `text` as the state of the progress bar of `owner` (a rank and its stream), in place of the last
        state."""
        with self._lock:
            self._states[owner] = _State(text, self._clock())
            self._is_stale = True
            self._write_in_time()

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Write all lines and remove the states of progress bars, so that the caller can print to the terminal in the
        `with` block.

        After the block the states are drawn again."""
        with self._lock:
            self._write(is_last=True)
            yield
            self._is_stale = True
            self._wake_thread()

    def close(self) -> None:
        """Write everything that is not yet written, and end the thread. The last states of progress bars become lines.

        Raise the error of a write that failed in the thread. A second call does nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._wake.set()
            self._lines += [self.render(state.text) for state in self._states.values() if not state.is_written]
            self._states.clear()
            self._write(is_last=True)
        self._raise_failure()

    def _write_in_time(self) -> None:
        """Write all waiting lines and states now, or let the thread write them later if the last write was less than
        INTERVAL_S ago.

        Raise the error of a write that failed in the thread."""
        self._raise_failure()
        if self._clock() >= self._next:
            self._write()
        else:
            self._wake_thread()

    def _raise_failure(self) -> None:
        """Raise the error of a write that failed in the thread, such as a broken pipe. Do nothing if no write
        failed."""
        if self._failure:
            raise self._failure

    def _write(self, is_last: bool = False) -> None:
        """Write the waiting lines.

        On a terminal, draw the states of progress bars below them. With `is_last` the states are only removed and not
        drawn again. Elsewhere, write states that have not changed for STILL_S as lines."""
        if not self._is_live:
            self._write_still_states()
        lines, self._lines = self._lines, []
        rows = self._drawn_rows() if self._is_live and not is_last else []
        erased = f"\x1b[{self._rows}A\x1b[J" if self._rows else ""
        self._rows, self._is_stale = len(rows), False
        text = erased + "".join(f"{line}\n" for line in (*lines, *rows))
        if text:
            self._console.file.write(text)
            self._console.file.flush()
        self._next = self._clock() + INTERVAL_S
        if self._states:
            self._wake_thread()

    def _write_still_states(self) -> None:
        now = self._clock()
        for state in self._states.values():
            if not state.is_written and now >= state.since + STILL_S:
                state.is_written = True
                self._lines.append(self.render(state.text))

    def _drawn_rows(self) -> list[str]:
        """Return one row for each progress bar: its state, cut to the width of the terminal.

        If there are too many bars for the terminal, the last row says how many are left out."""
        size = self._console.size
        most = max(1, min(MAX_ROWS, size.height - 3))
        shown = list(self._states.values())
        rows = [self.render(_cut(state.text, size.width - 1)) for state in shown[:most]]
        return [*rows, f"and {len(shown) - most} more"] if len(shown) > most else rows

    def _wake_thread(self) -> None:
        if self._thread is None and not self._is_closed:
            self._thread = threading.Thread(target=self._run, name="output", daemon=True)
            self._thread.start()
        if not self._wake.is_set():
            self._wake.set()

    def _run(self) -> None:
        """Write waiting lines and states, at most once in INTERVAL_S, until the screen is closed or a write fails.

        This is the function of the thread."""
        while not self._is_closed and self._failure is None:
            self._wake.wait(STILL_S if self._states and not self._is_live else None)
            self._wake.clear()
            time.sleep(INTERVAL_S)
            with self._lock:
                if self._is_closed:
                    return
                try:
                    if self._lines or self._is_stale or not self._is_live:
                        self._write()
                except (OSError, ValueError) as error:
                    self._failure = error


def _cut(text: Text, width: int) -> Text:
    """Return the text as one row of at most `width` columns. A longer text is cut and ends with an ellipsis."""
    row = text.copy()
    row.expand_tabs(1)
    row.truncate(width, overflow="ellipsis")
    return row
