"""Short commands, all run at once, with what each of them wrote."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import partial

from inside.runtime.child import kill_group
from inside.runtime.loop import Loop

# More than this is no answer of ours; the rest is read and thrown away.
LARGEST = 8 << 20


class ParallelCommands:
    """Whoever is not back when the time is over is killed; what came until then is kept."""

    def __init__(self, loop: Loop, commands: Mapping[str, Sequence[str]], limit_s: float) -> None:
        self.outputs: dict[str, bytes] = dict.fromkeys(commands, b"")
        # Only of those that came back by themselves.
        self.codes: dict[str, int] = {}
        self._loop = loop
        self._deadline = time.monotonic() + limit_s
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        for name, command in commands.items():
            self._start(name, command)
        loop.add(self)

    @property
    def is_done(self) -> bool:
        return not self._running

    def due(self) -> float | None:
        return self._deadline if self._running else None

    def tick(self) -> None:
        """See who is back."""
        for name, process in tuple(self._running.items()):
            code = process.poll()
            if code is not None:
                self._finish(name, process)
                self.codes[name] = code
        if self._running and time.monotonic() >= self._deadline:
            self.cancel()
        if self.is_done:
            self._loop.remove(self)

    def cancel(self) -> None:
        """Wait for nobody any longer."""
        for name, process in tuple(self._running.items()):
            kill_group(process.pid, signal.SIGKILL)
            process.wait()
            self._finish(name, process)
        self._loop.remove(self)

    def _start(self, name: str, command: Sequence[str]) -> None:
        quiet = subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                list(command), stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, start_new_session=True
            )
        except OSError:
            return
        assert process.stdout is not None
        fd = process.stdout.fileno()
        os.set_blocking(fd, False)
        self._running[name] = process
        self._loop.watch(fd, partial(self._read, name, fd))

    def _read(self, name: str, fd: int) -> bool:
        """Take the next piece; whether there may be more."""
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self._loop.unwatch(fd)
            return False
        self.outputs[name] = (self.outputs[name] + data)[:LARGEST]
        return True

    def _finish(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        fd = process.stdout.fileno()
        while self._read(name, fd):
            pass
        self._loop.unwatch(fd)
        process.stdout.close()
        del self._running[name]


def run_parallel(
    loop: Loop, commands: Mapping[str, Sequence[str]], limit_s: float, obeyed: int = 0
) -> ParallelCommands:
    """Run them to their end; an ask to stop cuts it short, unless it is one that is obeyed thereby."""
    errands = ParallelCommands(loop, commands, limit_s)
    loop.run_until(lambda: errands.is_done or loop.stops > obeyed)
    errands.cancel()
    return errands
