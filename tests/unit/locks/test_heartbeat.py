"""One sign of life per host, on links that are reopened where they are lost."""

from collections.abc import Iterable

import pytest

from hvdocker.errors import HostUnreachable
from hvdocker.locks.heartbeat import heartbeat_on_all_hosts
from hvdocker.locks.holder import Claim
from hvdocker.locks.ticket import RUNS
from hvdocker.shell.command import Command, command
from hvdocker.transport.link import CommandResult
from hvdocker.transport.reconnecting_link import ReconnectingLink
from tests.unit.fakes import FakeLink

CLAIM = Claim("beef", "ada", "desk", "ada", "run", "lab-aaaa")


class LostLink(FakeLink):
    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 1.0
    ) -> CommandResult:
        raise HostUnreachable("gone", host=self.name)


def answering(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
    return 0, b"state present\nnow 5\nnumber 7\ndone\n", b""


def test_every_host_has_a_ticket_with_the_same_token_until_the_end() -> None:
    links = {name: FakeLink(name, answering) for name in ("a", "b")}
    with heartbeat_on_all_hosts(links, CLAIM, RUNS, "2 ranks"):  # type: ignore[arg-type]  # fakes of a link
        assert [len(link.ran) for link in links.values()] == [1, 1]
    for link in links.values():
        joined, left = (ran[0].argv for ran in link.ran)
        assert "beef" in joined and '"kind": "runs"' in joined[-1] and '"cluster": "lab-aaaa"' in joined[-1]
        assert left[-2:] == ("beef", "7")


def test_a_lost_link_is_reopened_once_for_a_command() -> None:
    opened: list[FakeLink] = []

    def open_link() -> FakeLink:
        opened.append(FakeLink("a"))
        return opened[-1]

    link = ReconnectingLink("a", LostLink("a"), open_link)  # type: ignore[arg-type]  # as above
    for _ in range(2):
        assert link.run(command("true")).code == 0
    assert [len(one.ran) for one in opened] == [2]


def test_a_host_that_stays_away_is_an_error() -> None:
    link = ReconnectingLink("a", LostLink("a"), lambda: LostLink("a"))  # type: ignore[arg-type, return-value]  # as above
    with pytest.raises(HostUnreachable):
        link.run(command("true"))
