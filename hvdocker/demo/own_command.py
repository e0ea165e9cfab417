"""Runs commands of this hvdocker, each as a process, and passes Ctrl-C on to the command that runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Variables that would make the commands mean another cluster than that of their folder.
_DROPPED = ("HVDOCKER_INVENTORY", "HVDOCKER_CLUSTER")


class OwnCommands:
    """Runs `hvdocker` commands in `folder`. `environ` are the environment variables of this process.

    In the block of `passing_signals_on`, Ctrl-C, SIGTERM and SIGHUP do not end this process. The command that runs gets
    a SIGINT for each of them, and ends in its own way. `is_interrupted` is then True."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.is_interrupted = False
        self._folder = folder
        self._environ = {name: value for name, value in environ.items() if name not in _DROPPED}
        self._running: subprocess.Popen[bytes] | None = None

    @contextmanager
    def passing_signals_on(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._pass_on) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run(self, words: tuple[str, ...]) -> int:
        """Run `hvdocker` with these words to its end, and return its exit code.

        If a signal ended it, the exit code is 128 plus the number of the signal."""
        # In a session of its own, the process does not get the terminal's Ctrl-C a second time.
        self._running = subprocess.Popen(
            [sys.executable, "-m", "hvdocker", *words],
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = self._running.wait()
        finally:
            self._running = None
        return code if code >= 0 else 128 - code

    def _pass_on(self, number: int, frame: object) -> None:
        self.is_interrupted = True
        if self._running is not None:
            os.kill(self._running.pid, signal.SIGINT)
