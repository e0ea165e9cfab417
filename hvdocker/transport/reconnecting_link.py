"""A link that may stay open for days and reconnects if its connection is lost. It serves short commands, such as the
renewal of tickets during a `hvdocker run`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from hvdocker.errors import HostUnreachable
from hvdocker.shell.command import Command
from hvdocker.transport.link import COMMAND_TIMEOUT_S, CommandResult, HostLink, LinkOpener

if TYPE_CHECKING:
    from docker import APIClient


class ReconnectingLink:
    """A HostLink whose `run` replaces a lost connection and repeats the command once. So the caller must pass only
    commands that may run twice. `name` is the host. `link` is used until its connection is lost. Then `opener` opens
    and returns a new link.

    A command whose `stdin` is an iterator is not repeated, because an iterator can be read only once; HostUnreachable
    is raised instead. Methods other than `run` do not reconnect."""

    def __init__(self, name: str, link: HostLink, opener: LinkOpener) -> None:
        self.name = name
        self._link = link
        self._opener = opener
        self._opening = threading.Lock()

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        link = self._link
        try:
            return link.run(command, stdin, timeout_s)
        except HostUnreachable:
            if isinstance(stdin, Iterator):
                # A part of it may be sent already: the host would take the rest for the whole.
                raise
            return self._reopen(link).run(command, stdin, timeout_s)

    def _reopen(self, lost: HostLink) -> HostLink:
        with self._opening:
            if self._link is lost:
                lost.close()
                self._link = self._opener()
            return self._link

    def stream(self, command: Command, stdin: Iterable[bytes] | None = None) -> Iterator[bytes]:
        return self._link.stream(command, stdin)

    def engine(self) -> APIClient:
        return self._link.engine()

    def upload_engine(self, size: int, streams: int = 1) -> AbstractContextManager[APIClient]:
        return self._link.upload_engine(size, streams)

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        return self._link.greeting(address, port, timeout_s)

    def pasteable(self, command: Command) -> str:
        return self._link.pasteable(command)

    def close(self) -> None:
        self._link.close()
