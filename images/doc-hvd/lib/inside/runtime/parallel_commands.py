"""Runs short commands at the same time and keeps the output of each."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from functools import partial

from inside.runtime.child import kill_group
from inside.runtime.loop import Loop

# Output beyond this many bytes is read and discarded.
MAX_OUTPUT_BYTES = 8 << 20


class ParallelCommands:
    """Short commands that run at the same time; a member of the loop. `commands` maps names, such as hosts, to
    commands. `outputs` maps each name to the stdout of its command. `codes` maps a name to the exit code if its command
    ended by itself. Commands that still run after `limit_s` are killed, and their output so far is kept."""

    def __init__(self, loop: Loop, commands: Mapping[str, Sequence[str]], limit_s: float) -> None:
        self.outputs: dict[str, bytes] = dict.fromkeys(commands, b"")
        # Exit codes of the commands that ended by themselves. Commands that were killed or did not start have none.
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
        """Take the output and the exit code of the commands that have ended. Once the limit is reached, kill the
        others."""
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
        """Kill all commands that still run, and leave the loop. Their output so far is kept."""
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
        """Read the next piece of the stdout (`fd`) of the command `name`; return whether more may be available now.
        Output beyond MAX_OUTPUT_BYTES is discarded."""
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            self._loop.unwatch(fd)
            return False
        self.outputs[name] = (self.outputs[name] + data)[:MAX_OUTPUT_BYTES]
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
    loop: Loop, commands: Mapping[str, Sequence[str]], limit_s: float, handled_stop_requests: int = 0
) -> ParallelCommands:
    """Run commands at the same time until all have ended or `limit_s` is over. Kill those that still run, and return
    all with their outputs and exit codes. `commands` maps names, such as hosts, to commands. A new stop request also
    ends the wait. `handled_stop_requests` is the number of earlier stop requests to this process, on which the caller
    has already acted."""
    queued = ParallelCommands(loop, commands, limit_s)
    loop.run_until(lambda: queued.is_done or loop.stop_requests > handled_stop_requests)
    queued.cancel()
    return queued
