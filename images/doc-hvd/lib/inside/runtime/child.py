"""Starts a command in its own session, and ends it together with everything in that session's process
group."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple


class StartError(Exception):
    """The command did not start. `code` is the exit code that a shell would give."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class ChildExit(NamedTuple):
    """How a command ended. `code` is 128 + `signal` if a signal ended it. Its fields are keys of the rank's
    record."""

    code: int
    signal: int | None
    max_rss_kb: int


class Child:
    """A running command. `end` sends SIGTERM, and SIGKILL follows after the grace (`tick`)."""

    def __init__(self, process: "subprocess.Popen[bytes]", grace_s: float) -> None:
        self.process = process
        self._grace_s = grace_s
        self._kill_at: float | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self, number: int = signal.SIGTERM) -> None:
        """Signal the whole process group. Repeated calls send the signal again; the grace runs from the first
        call."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace_s
        kill_group(self.pid, number)

    def kill(self) -> None:
        """Kill the whole process group now."""
        kill_group(self.pid, signal.SIGKILL)

    def wait_ms(self) -> int | None:
        """Return how long a poll may wait before `tick` is due; None if nothing is planned."""
        if self._kill_at is None:
            return None
        return max(0, int((self._kill_at - time.monotonic()) * 1000) + 1)

    def tick(self) -> None:
        """Kill the process group once the grace is over."""
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self.kill()
            self._kill_at += 1

    def has_ended(self) -> bool:
        """Return whether the command has ended. It is not reaped yet, so its group id cannot be reused."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def reap(self) -> ChildExit:
        """Kill what is left of the process group, reap the command, and return how it ended."""
        self.kill()
        _pid, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.process.returncode = code
        if code < 0:
            return ChildExit(128 - code, -code, usage.ru_maxrss)
        return ChildExit(code, None, usage.ru_maxrss)


def start(
    command: Sequence[str], env: Mapping[str, str], workdir: str, grace_s: float, output: int | None = None
) -> Child:
    """Start `command`. With output=subprocess.PIPE its stdout and stderr are pipes. Raises StartError."""
    try:
        process = subprocess.Popen(
            list(command),
            env=dict(env),
            cwd=workdir,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except (OSError, ValueError, IndexError) as error:
        raise start_error(command, workdir, error) from error
    return Child(process, grace_s)


def start_error(command: Sequence[str], workdir: str, error: Exception) -> StartError:
    """Return the error as a message, with the exit code that a shell would give."""
    name = command[0] if command else "(nothing)"
    if isinstance(error, OSError) and error.filename == workdir:
        return StartError(f"cannot enter the folder {workdir}: {error.strerror}", 126)
    if isinstance(error, FileNotFoundError):
        return StartError(f"command not found: {name}", 127)
    if isinstance(error, OSError):
        return StartError(f"cannot execute {name}: {error.strerror}", 126)
    return StartError(f"cannot execute {name}: {error}", 126)


def kill_group(pid: int, number: int) -> None:
    """Send a signal to a process group, which may be gone already."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
