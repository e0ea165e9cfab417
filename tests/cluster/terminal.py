"""Runs the program on a real terminal (a pty), for prompts and output that it has only there."""

import os
import pty
import re
import select
import signal
import time
from pathlib import Path

from tests.cluster.cli import Cli, binary

DEADLINE_S = 120
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """The program on a pty. `screen` is the text so far without escape sequences."""

    def __init__(self, cli: Cli, *args: str, cwd: Path | None = None) -> None:
        cli.pin()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            # A shell on a terminal starts programs like this; tests that run in the background ignore SIGINT.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.chdir(cwd or cli.cwd)
            os.execve(binary(), [binary(), *args], cli.environment() | {"TERM": "xterm", "COLUMNS": "200"})
        self.screen = ""
        # Every byte that was sent to the terminal.
        self.sent = b""

    def wait_for(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while self.screen.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} never came:\n{self.screen}"
            assert self._read(1), f"it ended before {text!r}:\n{self.screen}"

    def type(self, text: str) -> None:
        """Type a text. Ctrl-C is typed only once the program sleeps: a signal between the prompt and the read
        of the answer is handled only after the answer."""
        deadline = time.monotonic() + DEADLINE_S
        while text == "\x03" and self._state() != "S":
            assert time.monotonic() < deadline, f"it never waits:\n{self.screen}"
            self._read(0.01)
        os.write(self._fd, text.encode())

    def _state(self) -> str:
        return Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()[0]

    def end(self) -> int:
        """Read all output to the end; return the exit code."""
        deadline = time.monotonic() + DEADLINE_S
        while self._read(1):
            assert time.monotonic() < deadline, f"it did not end:\n{self.screen}"
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    def _read(self, wait_s: float) -> bool:
        """Read what has arrived; return whether the program still runs."""
        if not select.select([self._fd], [], [], wait_s)[0]:
            return True
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return False
        self.sent += data
        self.screen += _ESCAPES.sub("", data.decode("utf-8", "replace"))
        return bool(data)
