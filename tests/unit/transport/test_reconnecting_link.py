"""A command is repeated on a new connection, but never with a part of its input."""

from collections.abc import Iterable, Iterator

import pytest

from hvdocker.errors import HostUnreachable
from hvdocker.shell.command import Command, command
from hvdocker.transport.link import CommandResult
from hvdocker.transport.reconnecting_link import ReconnectingLink
from tests.unit.fakes import FakeLink


class LostAfterOneChunk(FakeLink):
    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 1.0
    ) -> CommandResult:
        next(iter(stdin or ()), None)
        raise HostUnreachable("gone", host=self.name)


def chunks() -> Iterator[bytes]:
    yield b"first"
    yield b"second"


def test_an_input_that_was_begun_is_not_sent_again_without_its_beginning() -> None:
    again = FakeLink("a")
    link = ReconnectingLink("a", LostAfterOneChunk("a"), lambda: again)  # type: ignore[arg-type, return-value]  # fakes
    with pytest.raises(HostUnreachable):
        link.run(command("cat"), chunks())
    assert again.ran == []


def test_an_input_that_can_be_read_again_is_sent_whole() -> None:
    again = FakeLink("a")
    link = ReconnectingLink("a", LostAfterOneChunk("a"), lambda: again)  # type: ignore[arg-type, return-value]  # fakes
    link.run(command("cat"), list(chunks()))
    assert again.ran == [(command("cat"), b"firstsecond")]
