"""Starts a command in its own session, and ends it together with everything in its process group."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

PR_SET_PDEATHSIG = 1  # from linux/prctl.h


class StartError(Exception):
    """The error that a command did not start. `code` is the exit code that a shell would give: 127 if the command was
    not found, 126 if it cannot be executed."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class ChildExit(NamedTuple):
    """How a command ended. If a signal ended it, `signal` is its number and `code` is 128 + `signal`; else `signal` is
    None and `code` is the exit code. `max_rss_kb` is the peak memory, in KiB, of the largest single process: the
    command, or a descendant that was waited for. The field names are keys in the record of a rank (rank-N.json)."""

    code: int
    signal: int | None
    max_rss_kb: int


class Child:
    """A running command with its own process group. `end` sends a signal that asks the group to end. `tick` sends
    SIGKILL if the command still runs `grace_s` seconds later."""

    def __init__(self, process: "subprocess.Popen[bytes]", grace_s: float) -> None:
        self.process = process
        self._grace_s = grace_s
        self._kill_at: float | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self, number: int = signal.SIGTERM) -> None:
        """Send the signal `number` to the whole process group. Repeated calls send it again, but the time until
        SIGKILL (the grace) runs from the first call."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._grace_s
        kill_group(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL to the whole process group now."""
        kill_group(self.pid, signal.SIGKILL)

    def wait_ms(self) -> int | None:
        """Return how many milliseconds a poll may wait before `tick` has to be called; None if `end` was not
        called."""
        if self._kill_at is None:
            return None
        return max(0, int((self._kill_at - time.monotonic()) * 1000) + 1)

    def tick(self) -> None:
        """Kill the process group if the grace after `end` is over; otherwise do nothing. Call this regularly until the
        command has ended."""
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self.kill()
            self._kill_at += 1

    def has_ended(self) -> bool:
        """Return whether the command has ended. The command is not reaped here but in `reap`. Until then the kernel
        cannot reuse its process id, which is also the id of its process group."""
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
    command: Sequence[str],
    env: Mapping[str, str],
    workdir: str,
    grace_s: float,
    output: int | None = None,
    ends_with_us: bool = False,
) -> Child:
    """Start `command` in a new session and in the folder `workdir`, without standard input. With output=subprocess.PIPE
    its stdout and stderr are pipes; by default it inherits those of this process. `env` is its whole environment.
    `grace_s` is the time that `Child.end` leaves before SIGKILL. With `ends_with_us` the kernel sends the command
    SIGTERM when this process ends, whatever the reason. Raises StartError if the command does not start."""
    try:
        process = subprocess.Popen(
            list(command),
            env=dict(env),
            cwd=workdir,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=request_end_with_parent() if ends_with_us else None,
        )
    except (OSError, ValueError, IndexError) as error:
        raise start_error(command, workdir, error) from error
    return Child(process, grace_s)


def request_end_with_parent() -> Callable[[], None]:
    """Return a function that a new child process calls before it executes its command. The function makes the kernel
    send SIGTERM to the child when this process ends."""
    import ctypes

    libc, parent = ctypes.CDLL(None), os.getpid()

    def request() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            # The parent ended before the request.
            os._exit(128 + signal.SIGTERM)

    return request


def start_error(command: Sequence[str], workdir: str, error: Exception) -> StartError:
    """Return a StartError for a command that did not start in the folder `workdir` because of `error`. It has a message
    for the user and the exit code that a shell would give: 127 if the command was not found, else 126."""
    name = command[0] if command else "(nothing)"
    if isinstance(error, OSError) and error.filename == workdir:
        return StartError(f"cannot enter the folder {workdir}: {error.strerror}", 126)
    if isinstance(error, FileNotFoundError):
        return StartError(f"command not found: {name}", 127)
    if isinstance(error, OSError):
        return StartError(f"cannot execute {name}: {error.strerror}", 126)
    return StartError(f"cannot execute {name}: {error}", 126)


def kill_group(pid: int, number: int) -> None:
    """Send the signal `number` to the process group whose leader is `pid`. Nothing happens if the group is already gone
    or may not be signalled."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
