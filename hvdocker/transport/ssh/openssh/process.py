"""One process of OpenSSH's program `ssh`, and its end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from typing import Any

_END_LIMIT_S = 2.0
_CHUNK = 1 << 16


class SshProcess:
    """A process `ssh` with the command line `argv`. Its standard input and output are as in `subprocess`.

    The process and its ProxyCommand run in a session (process group) of their own. So ssh cannot ask at the terminal.
    Ctrl-C reaches only hvdocker, which ends the process by `close`."""

    def __init__(self, argv: Sequence[str], stdin: Any, stdout: Any) -> None:
        # ssh runs a ProxyCommand in the shell that SHELL names; its words are quoted for sh.
        environ = {**os.environ, "SHELL": "/bin/sh"}
        self._process = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, start_new_session=True, env=environ
        )
        self._errors: Any = self._process.stderr  # Any: the stubs have no `read1`

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def ends_within(self, limit_s: float) -> bool:
        """Wait up to `limit_s` seconds for the end of the process, and return whether it has ended."""
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def echoes(self, word: bytes, limit_s: float) -> bool:
        """Write `word` to the standard input, and return whether it comes back on the standard output within `limit_s`.
        Both are pipes to this process."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin and stdout
        with contextlib.suppress(BrokenPipeError):
            os.write(stdin.fileno(), word)
        output = select.poll()
        output.register(stdout.fileno())
        seen, deadline = b"", time.monotonic() + limit_s
        while word not in seen:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not output.poll(left_s * 1000) or not (data := os.read(stdout.fileno(), _CHUNK)):
                return False
            seen = seen[-len(word) :] + data
        return True

    def read_errors(self, size: int) -> bytes:
        """Wait until the process writes to standard error, and return at most `size` bytes of that. Return empty bytes
        at the end of standard error."""
        try:
            return self._errors.read1(size) or b""
        except ValueError:  # another thread closed it
            return b""

    def last_words(self) -> str:
        """End the process, and return the last line of its standard error, which says why ssh failed. Return empty text
        if there is no such line."""
        self._end()
        with contextlib.suppress(OSError, ValueError):
            # A process of a ProxyCommand may keep it open.
            os.set_blocking(self._errors.fileno(), False)
        lines = self.read_errors(_CHUNK).decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def wait(self) -> int:
        """Wait for the end of the process, and return its exit code. Return -1 if a signal ended the process, or if ssh
        itself failed (code 255)."""
        code = self._process.wait()
        return -1 if code < 0 or code == 255 else code

    def close(self) -> None:
        """End the process and close its standard input and standard error. If another thread is reading standard error,
        wait until that has ended."""
        self._end()
        for stream in (self._errors, self._process.stdin, self._process.stdout):
            if stream:
                stream.close()

    def _end(self) -> None:
        if self.has_ended:
            return
        self._kill(signal.SIGTERM)
        if not self.ends_within(_END_LIMIT_S):
            self._kill(signal.SIGKILL)
            self._process.wait()

    def _kill(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
