"""A command run as the leader of a session of its own, and ended with everything it started."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple


class StartError(Exception):
    """The command did not start; `code` is what a shell would exit with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    signal: int | None
    max_rss_kb: int


class Child:
    """A running command. `end` begins its end: SIGTERM, and SIGKILL after the grace."""

    def __init__(self, process: "subprocess.Popen[bytes]", grace_s: float) -> None:
        self.process = process
        self._grace_s = grace_s
        self._kill_at: float | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self, number: int = signal.SIGTERM) -> None:
        """Ask the whole group to end; repeated asks are passed on, the grace runs from the first."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace_s
        kill_group(self.pid, number)

    def kill(self) -> None:
        """End the whole group now."""
        kill_group(self.pid, signal.SIGKILL)

    def wait_ms(self) -> int | None:
        """How long a poll may wait before `tick` has something to do."""
        if self._kill_at is None:
            return None
        return max(0, int((self._kill_at - time.monotonic()) * 1000) + 1)

    def tick(self) -> None:
        """Kill the group once its grace is over."""
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self.kill()
            self._kill_at += 1

    def has_ended(self) -> bool:
        """Whether the command has ended; it is not yet reaped, so its group id stays its own."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, flags) is not None

    def reap(self) -> Ended:
        """How it ended; what is left of its group is killed first."""
        self.kill()
        _pid, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.process.returncode = code
        if code < 0:
            return Ended(128 - code, -code, usage.ru_maxrss)
        return Ended(code, None, usage.ru_maxrss)


def start(
    command: Sequence[str],
    env: Mapping[str, str],
    workdir: str,
    grace_s: float,
    output: int | None = None,
) -> Child:
    """Start `command`; with output=subprocess.PIPE both its streams are pipes."""
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
    """The error in words, with the exit code a shell would give."""
    name = command[0] if command else "(nothing)"
    if isinstance(error, OSError) and error.filename == workdir:
        return StartError(f"cannot enter the folder {workdir}: {error.strerror}", 126)
    if isinstance(error, FileNotFoundError):
        return StartError(f"command not found: {name}", 127)
    if isinstance(error, OSError):
        return StartError(f"cannot execute {name}: {error.strerror}", 126)
    return StartError(f"cannot execute {name}: {error}", 126)


def kill_group(pid: int, number: int) -> None:
    """Signal a group that may be gone already."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
