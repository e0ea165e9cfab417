"""Forwards the output of the launcher, waits for the launcher to end, and ends it on request."""

import os
import time
from collections.abc import Callable
from functools import partial

from hvdocker.protocol.marks import Mark
from inside.launchers.launcher import Launcher
from inside.runtime.child import Child
from inside.runtime.loop import Loop
from inside.supervisor.line_splitter import LineSplitter
from inside.supervisor.mark_filter import MarkFilter
from inside.supervisor.progress_states import StateWriter

# How long to read on after the launcher has ended, while another process holds its pipes open silently.
DRAIN_SILENCE_S = 0.5
# How long to read on at most, while that process writes.
DRAIN_S = 10.0


class LauncherOutput:
    """Reads and forwards the output of one run of the `launcher` (`child` is its process). Until the run ends, the
    event loop asks `due` when to wake up, and then calls `tick`. `report` gets the marks (JSON messages from rank
    wrappers), `on_rank_line` the lines of ranks, `on_line` the launcher's own lines. `host_prefix` adds the host to the
    header of a rank's line. `was_stopped` says that a stop was requested. `lines` counts the lines that were written to
    the container's log; it is complete when `run` returns."""

    def __init__(
        self,
        loop: Loop,
        launcher: Launcher,
        child: Child,
        report: Callable[[Mark], None],
        on_rank_line: Callable[[int, str], None],
        host_prefix: Callable[[bytes], bytes],
        on_line: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.was_stopped = False
        self.lines = 0
        self._loop = loop
        self._child = child
        self._stops = loop.stop_requests
        self._heard = time.monotonic()
        self._filters: dict[int, MarkFilter] = {}
        self._lines: dict[int, LineSplitter] = {}
        self._writers: dict[int, StateWriter] = {}
        for stream, out in ((child.process.stdout, 1), (child.process.stderr, 2)):
            if stream is not None:
                lines = self._lines[stream.fileno()] = LineSplitter(on_rank_line, on_line)
                writer = self._writers[stream.fileno()] = StateWriter(out)
                self._filters[stream.fileno()] = MarkFilter(
                    partial(forward, writer, lines), report, launcher, host_prefix
                )

    def run(self) -> int:
        """Wait until the launcher has ended and its output is read; return its exit code. Output of a process that
        outlives the launcher is read until it is silent for DRAIN_SILENCE_S, but for DRAIN_S at most."""
        for fd in self._filters:
            self._loop.watch(fd, partial(self._read, fd))
        self._loop.add(self)
        self._loop.run_until(self._child.has_ended)
        self._heard = time.monotonic()
        deadline = self._heard + DRAIN_S
        while self._filters and time.monotonic() < min(self._heard + DRAIN_SILENCE_S, deadline):
            self._loop.turn(min(self._heard + DRAIN_SILENCE_S, deadline))
        self._loop.remove(self)
        for fd in tuple(self._filters):
            self._close(fd)
        for stream in (self._child.process.stdout, self._child.process.stderr):
            if stream is not None:
                stream.close()
        return self._child.reap().code

    def end(self) -> bool:
        """End the launcher because the run cannot succeed, for example because it hangs; return True. This does not
        set `was_stopped`, which means that a stop was requested. Return False if the launcher has already ended."""
        if self._child.has_ended():
            return False
        self._child.end()
        return True

    def due(self) -> float | None:
        wait_ms = self._child.wait_ms()
        end = None if wait_ms is None else time.monotonic() + wait_ms / 1000
        times = [end, *(writer.due() for writer in self._writers.values())]
        return min((planned for planned in times if planned is not None), default=None)

    def tick(self) -> None:
        """Write the states of progress bars that are due. Forward stop requests to the launcher: the first ends it with
        SIGTERM and kills it after a grace, the second kills it at once. When the launcher has ended, stop requests are
        ignored."""
        for writer in self._writers.values():
            writer.tick()
        if self._child.has_ended():
            return
        while self._stops < self._loop.stop_requests:
            self._stops += 1
            if self.was_stopped:
                self._child.kill()
            else:
                self._child.end()
            self.was_stopped = True
        self._child.tick()

    def _read(self, fd: int) -> None:
        self._heard = time.monotonic()
        data = os.read(fd, 1 << 16)
        if data:
            self._filters[fd].feed(data)
        else:
            self._close(fd)

    def _close(self, fd: int) -> None:
        self._loop.unwatch(fd)
        self._filters.pop(fd).close()
        writer = self._writers.pop(fd)
        writer.close()
        self.lines += writer.lines
        self._lines.pop(fd).close()


def forward(writer: StateWriter, lines: LineSplitter, data: bytes) -> None:
    """Pass a piece of output to `writer`, which writes it to the container's log, and to `lines`, which splits it into
    lines."""
    lines.feed(data)
    writer.write(data)
