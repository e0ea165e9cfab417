"""Runs a long command on a host in its own thread, so that Ctrl-C does not wait for its end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hvdocker.shell.command import Command
from hvdocker.transport.link import CommandResult, HostLink

_POLL_S = 1.0


class LongCommand:
    def __init__(self, link: HostLink, command: Command) -> None:
        self._link, self._command = link, command
        self._result: CommandResult | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, tick: Callable[[], None]) -> CommandResult:
        while self._thread.is_alive():
            self._thread.join(_POLL_S)
            tick()
        if self._error:
            raise self._error
        assert self._result is not None
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._link.run(self._command, timeout_s=None)
        except BaseException as error:
            self._error = error
