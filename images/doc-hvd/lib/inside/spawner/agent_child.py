"""A process that the agent started: the pipes of its output, and its end."""

import subprocess
import time
from collections.abc import Callable, Mapping

from inside.launchers.spawned import ProcessStart
from inside.runtime.child import Child, ChildExit, start
from inside.runtime.loop import Loop
from inside.spawner.line_collector import LineCollector
from inside.spawner.streams import Inlet, Outlet

# A rank wrapper kills its command after the job's grace, and then needs a moment to report that.
EXTRA_GRACE_S = 2.0
# How long to read on after a program that is no rank has ended, while its ranks hold its pipes open.
DRAIN_S = 0.5


class AgentChild:
    """One process of the agent. `wanted` says what to start, `env` is the whole environment of the process, `folder`
    its working folder. The lines of the process go to the two outlets (for stdout and stderr), with a header if the
    process is a rank. Raises StartError if it does not start."""

    def __init__(
        self,
        loop: Loop,
        wanted: ProcessStart,
        env: Mapping[str, str],
        folder: str,
        grace_s: float,
        outlets: tuple[Outlet, Outlet],
    ) -> None:
        self.key = wanted.key
        self._drain_s = DRAIN_S if wanted.rank is None else grace_s + EXTRA_GRACE_S
        self._child: Child = start(
            wanted.argv, env, folder, grace_s + EXTRA_GRACE_S, subprocess.PIPE, ends_with_us=True
        )
        out, err = self._child.process.stdout, self._child.process.stderr
        assert out is not None and err is not None
        self._files = (out, err)
        self._inlets = tuple(
            lines_inlet(loop, file.fileno(), header, outlet)
            for file, header, outlet in zip(self._files, headers(wanted.rank), outlets, strict=True)
        )
        self._ended_at: float | None = None

    def stop(self) -> None:
        """Send SIGTERM to the process group if the process still runs. `tick` kills the group after the grace."""
        if self._ended_at is None:
            self._child.end()

    def due(self) -> float | None:
        if self._ended_at is not None:
            return self._ended_at + self._drain_s
        wait_ms = self._child.wait_ms()
        return None if wait_ms is None else time.monotonic() + wait_ms / 1000

    def tick(self) -> bool:
        """Kill the process if its grace is over. Return whether the process has ended and its output is read; the
        caller then has to call `finish`.

        After the end of the process, another process may hold its pipes open. The pipes are then read for another
        DRAIN_S, or, if the process is a rank wrapper, for its grace. Such a wrapper may have lost its outer process,
        and the inner process still has to end the command."""
        if self._ended_at is None:
            self._child.tick()
            if not self._child.has_ended():
                return False
            self._ended_at = time.monotonic()
        if not any(inlet.is_open for inlet in self._inlets):
            return True
        is_late = time.monotonic() >= self._ended_at + self._drain_s
        return is_late and not any(inlet.is_paused for inlet in self._inlets)

    @property
    def is_only_blocked(self) -> bool:
        """Whether the process has ended, but its last output cannot be passed on yet because the reader of the agent's
        own output is slow. A caller that has waited long enough may call `finish`. The rest of the output is then
        lost."""
        return self._ended_at is not None and any(inlet.is_paused for inlet in self._inlets)

    def finish(self) -> ChildExit:
        """Reap the process, kill what is left of its process group, and return how the process ended."""
        for inlet in self._inlets:
            inlet.close()
        for file in self._files:
            file.close()
        return self._child.reap()


def lines_inlet(
    loop: Loop, fd: int, header: bytes, outlet: Outlet, on_end: Callable[[], object] = lambda: None
) -> Inlet:
    """Return an inlet that reads the file descriptor `fd` and passes its lines to `outlet`, with `header` before each
    line. `on_end` is called after the last line."""
    lines = LineCollector(header)

    def end() -> None:
        outlet.put(lines.close())
        on_end()

    return Inlet(loop, fd, lambda data: outlet.put(lines.feed(data)), outlet, end)


def headers(rank: int | None) -> tuple[bytes, bytes]:
    """Return the headers of a rank's lines on stdout and stderr; empty for a program that is no rank."""
    if rank is None:
        return b"", b""
    return b"[%d]<stdout>:" % rank, b"[%d]<stderr>:" % rank
