"""The spawner's end of the connection to the agent of one host."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from inside.runtime.child import Child
from inside.runtime.loop import Loop
from inside.spawner.control import Message, encode_command, split_events, stop_command
from inside.spawner.line_collector import MAX_LINE_BYTES, LineCollector
from inside.spawner.streams import Inlet, Outlet

# How long to read on after the connection has ended, if another process holds its pipes open.
DRAIN_S = 1.0
# An agent gets the job's grace, and this to kill what is left and to pass on the last output.
EXTRA_GRACE_S = 6.0
# The agent has cut long lines already, and given each piece its header. A piece must not be cut again here, because
# its rest would have no header.
MAX_AGENT_LINE_BYTES = 2 * MAX_LINE_BYTES


class AgentLink:
    """The connection to the agent of one host. `command` starts the agent, over ssh if it is on another host. The lines
    from the agent go to `outlets` (for stdout and stderr). `on_event` is called with each event (a message of the
    agent). `grace_s` is the grace of the job. `is_closed` says that the connection has ended and its output is read,
    `was_asked` that `stop` was called. Raises OSError if the command does not start."""

    def __init__(
        self,
        loop: Loop,
        command: Sequence[str],
        env: Mapping[str, str],
        outlets: tuple[Outlet, Outlet],
        on_event: Callable[[Message], object],
        grace_s: float,
    ) -> None:
        self.is_closed = False
        self.was_asked = False
        pipe = subprocess.PIPE
        # A session of its own: a signal to the group of the spawner would end ssh before the last output arrives.
        process = subprocess.Popen(
            list(command), env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._loop = loop
        self._on_event = on_event
        self._child = Child(process, 0.0)
        self._grace_s = grace_s
        self._input = process.stdin
        self._files = (process.stdout, process.stderr)
        self._commands = Outlet(loop, process.stdin.fileno())
        self._lines = (LineCollector(most=MAX_AGENT_LINE_BYTES), LineCollector(most=MAX_AGENT_LINE_BYTES))
        self._outlets = outlets
        self._inlets = (
            Inlet(loop, process.stdout.fileno(), lambda data: self._pass(0, data), outlets[0]),
            Inlet(loop, process.stderr.fileno(), lambda data: self._pass(1, data), outlets[1]),
        )
        self._ended_at: float | None = None
        self._kill_at: float | None = None
        self._is_hurried = False

    def send(self, message: Message) -> None:
        """Send a command to the agent."""
        self._commands.put(encode_command(message))

    def stop(self, is_hurried: bool = False) -> None:
        """Ask the agent to end its processes and itself. If the connection is still there after the grace, `tick` kills
        it. Without `is_hurried`, `tick` does not kill the connection while output waits for a slow reader."""
        if not self.was_asked:
            self._kill_at = time.monotonic() + self._grace_s + EXTRA_GRACE_S
        if not self.was_asked or is_hurried > self._is_hurried:
            self.was_asked, self._is_hurried = True, is_hurried
            self.send(stop_command(is_hurried))

    def due(self) -> float | None:
        if self.is_closed:
            return None
        return self._kill_at if self._ended_at is None else self._ended_at + DRAIN_S

    def tick(self) -> None:
        """Set `is_closed` if the connection has ended and its output is read. Kill the connection if the agent does not
        end in time after `stop`."""
        if self.is_closed:
            return
        now = time.monotonic()
        if self._ended_at is None:
            if self._kill_at is not None and now >= self._kill_at:
                if not self._is_blocked():
                    self._child.kill()
                self._kill_at = now + 1
            if not self._child.has_ended():
                return
            self._ended_at = now
        is_late = now >= self._ended_at + DRAIN_S and not self._is_blocked()
        if is_late or not any(inlet.is_open for inlet in self._inlets):
            self._close()

    def _is_blocked(self) -> bool:
        """Return whether the connection has to stay because output waits for a slow reader. After a hurried `stop` this
        is False, because output may then be lost."""
        return not self._is_hurried and any(inlet.is_paused for inlet in self._inlets)

    def _pass(self, stream: int, data: bytes) -> None:
        self._put(stream, self._lines[stream].feed(data))

    def _put(self, stream: int, lines: bytes) -> None:
        kept, events = split_events(lines) if stream == 0 else (lines, [])
        self._outlets[stream].put(kept)
        for event in events:
            self._on_event(event)

    def _close(self) -> None:
        self.is_closed = True
        for stream, inlet in enumerate(self._inlets):
            inlet.close()
            self._put(stream, self._lines[stream].close())
        self._commands.close()
        self._input.close()
        for file in self._files:
            file.close()
        self._child.reap()
