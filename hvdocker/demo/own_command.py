"""Runs commands of this hvdocker, each as a process, and passes Ctrl-C on to the command that runs."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hvdocker.errors import ExitCode

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Variables that would make the commands mean another cluster than that of their folder.
_DROPPED = ("HVDOCKER_INVENTORY", "HVDOCKER_CLUSTER")


class OwnCommands:
    """Runs `hvdocker` commands in `folder`. `environ` are the environment variables of this process.

    Ctrl-C, SIGTERM and SIGHUP do not end this process: the command that runs gets a SIGINT for each, and ends in its
    own way. `is_interrupted` is then True. Use it as a context manager. Signals that this process ignores, such as
    SIGHUP under nohup, stay without effect."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.is_interrupted = False
        self._folder = folder
        self._environ = {name: value for name, value in environ.items() if name not in _DROPPED}
        self._running: subprocess.Popen[bytes] | None = None
        # A signal came while no command ran.
        self._is_pending = False

    @contextmanager
    def passing_signals_on(self) -> Iterator[None]:
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, handler in before.items():
            # A process inherits SIG_IGN, but no other handler: the commands have to heed the SIGINT that they get.
            signal.signal(number, _do_nothing if handler is signal.SIG_IGN else self._pass_on)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def run(self, words: tuple[str, ...], is_cleanup: bool = False, is_silent: bool = False) -> int:
        """Run `hvdocker WORDS…` to its end and return its exit code; 128 and its number if a signal ended it.

        After a signal only a command with `is_cleanup` is started; for others return the exit code of Ctrl-C. The
        output of a command with `is_silent` is thrown away."""
        if is_cleanup:
            self._is_pending = False
        elif self.is_interrupted:
            return ExitCode.INTERRUPTED
        output = subprocess.DEVNULL if is_silent else None
        # In a session of its own, the process does not get the terminal's Ctrl-C a second time.
        self._running = process = subprocess.Popen(
            [sys.executable, "-m", "hvdocker", *words],
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            if self._is_pending:
                # It came while the process was being started.
                process.send_signal(signal.SIGINT)
            code = process.wait()
        finally:
            self._running, self._is_pending = None, False
        return code if code >= 0 else 128 - code

    def _pass_on(self, number: int, frame: object) -> None:
        self.is_interrupted = True
        if self._running is not None:
            self._running.send_signal(signal.SIGINT)
        else:
            self._is_pending = True


def _do_nothing(number: int, frame: object) -> None:
    """The handler of signals that this process ignored when it was started."""
