"""A client's sign of life on hosts that are folders of this machine: where it is, and what if it is lost."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.errors import ExitCode, HostUnfit, HostUnreachable
from hvdocker.events import Event
from hvdocker.locks.held_ticket import hold_ticket, query_tickets, read_queue
from hvdocker.locks.holder import Claim
from hvdocker.locks.process_id import own_process_id
from hvdocker.locks.ticket import QUEUE_DIR, RUNS, Ticket
from hvdocker.shell.command import Command
from hvdocker.transport.link import CommandResult
from hvdocker.transport.local_link import LocalLink

ADA = Claim("aaaa", "ada", "laptop", "ada", "train", "one")
BOB = Claim("bbbb", "bob", "desk", "bob", "train", "one")
SOON_S = 20.0


class Machine(LocalLink):
    """This machine as a host whose /tmp is a folder of the test's. All say the same of themselves, so that
    their names sort them."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self.folder = folder / name
        self.folder.mkdir()
        self.is_gone = self.is_full = self.is_interrupting = False

    @property
    def queue(self) -> Path:
        return self.folder / "hvdocker.queue"

    @property
    def tickets(self) -> list[Path]:
        return sorted(self.queue.iterdir()) if self.queue.is_dir() else []

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = None
    ) -> CommandResult:
        if self.is_gone:
            raise HostUnreachable("gone", host=self.name)
        words = tuple(str(self.queue) if word == QUEUE_DIR else word for word in command.argv)
        assert words != command.argv
        if self.is_full:
            words = ("sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "full", *words)
        if self.is_interrupting:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return super().run(Command(words), stdin, timeout_s)

    def silence(self, seconds: float = 75) -> None:
        then = time.time() - seconds
        for ticket in self.tickets:
            os.utime(ticket, (then, then))


@pytest.fixture
def hosts(tmp_path: Path) -> dict[str, Machine]:
    return {name: Machine(name, tmp_path) for name in ("c", "a", "b")}


def owners(tickets: Iterable[Ticket]) -> list[str]:
    return [ticket.owner for ticket in tickets]


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_ticket_is_on_the_lowest_host_for_as_long_as_the_block_lasts(hosts: dict[str, Machine]) -> None:
    with hold_ticket(hosts, ADA, wish="4 slots") as ada, hold_ticket(hosts, BOB, RUNS) as bob:
        assert (ada.host, bob.host) == ("a", "a")
        assert (
            owners(ada.renew_and_list())
            == owners(bob.renew_and_list())
            == owners(read_queue(hosts, {}, True))
            == ["ada", "bob"]
        )
        assert {name: owners(found) for name, found in query_tickets(hosts).done.items()} == {
            "a": ["ada", "bob"], "b": [], "c": []
        }  # fmt: skip
        told = {"a": ("2", ""), "b": ("1", ""), "c": ("3", "")}
        assert read_queue(hosts, told, True) == (), "what hosts said already is believed"
        ada.leave()
        ada.leave()
        assert owners(bob.renew_and_list()) == ["bob"]
    assert [list(host.folder.iterdir()) for host in hosts.values()] == [[], [], []]


def test_it_is_renewed_while_something_else_is_done(hosts: dict[str, Machine]) -> None:
    with hold_ticket(hosts, ADA, beat_s=0.05):
        hosts["a"].silence(50)
        (ticket,) = hosts["a"].tickets
        until(lambda: time.time() - ticket.stat().st_mtime < 30)


@pytest.mark.parametrize("by_thread", [False, True], ids=["looking", "beating"])
def test_who_lost_its_place_is_the_last_and_says_so(hosts: dict[str, Machine], by_thread: bool) -> None:
    said: list[Event] = []
    with (
        hold_ticket(hosts, ADA, listener=said.append, beat_s=0.5 if by_thread else 60) as ada,
        hold_ticket(hosts, BOB, beat_s=60) as bob,
    ):
        hosts["a"].tickets[0].unlink()
        if by_thread:
            until(lambda: said)
        assert owners(ada.renew_and_list()) == ["bob", "ada"] == owners(bob.renew_and_list())
    assert [event.text.partition(":")[0] for event in said] == [
        "this machine was silent for a minute and lost its place"
    ]
    assert hosts["a"].tickets == []


def test_a_process_of_this_machine_that_is_gone_waits_for_nothing(hosts: dict[str, Machine]) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = own_process_id().split(" ")
        stat = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[19]
        theirs = " ".join((*process[:2], str(child.pid), stat))
        with (
            hold_ticket(hosts, replace(BOB, process=theirs), beat_s=60),
            hold_ticket(hosts, ADA) as ada,
        ):
            assert owners(ada.renew_and_list()) == ["bob", "ada"]
            child.kill()
            child.wait()
            assert owners(query_tickets(hosts).done["a"]) == ["ada"] and len(hosts["a"].tickets) == 2, "only looked"
            assert owners(ada.renew_and_list()) == ["ada"] and len(hosts["a"].tickets) == 1


def test_ctrl_c_does_not_keep_anyone_from_leaving(hosts: dict[str, Machine]) -> None:
    with pytest.raises(KeyboardInterrupt), hold_ticket(hosts, ADA):
        hosts["a"].is_interrupting = True
    assert hosts["a"].tickets == []
    hosts["a"].is_interrupting = False
    with pytest.raises(KeyboardInterrupt), hold_ticket(hosts, ADA):
        raise KeyboardInterrupt
    assert hosts["a"].tickets == []


def test_a_lost_link_is_named_with_what_becomes_of_the_place(hosts: dict[str, Machine]) -> None:
    said: list[Event] = []
    with pytest.raises(HostUnreachable) as caught, hold_ticket(hosts, ADA, listener=said.append) as ada:
        hosts["a"].is_gone = True
        ada.renew_and_list()
    assert caught.value.exit_code == ExitCode.UNREACHABLE and caught.value.host == "a"
    assert "where the queue is kept" in caught.value.what and "kept there for 60 s" in str(caught.value.fix)
    assert [event.text for event in said] == ["the place in the queue could not be given back: it is free in 60 s"]


def test_a_host_on_which_no_ticket_can_be_written_is_named(hosts: dict[str, Machine]) -> None:
    hosts["a"].is_full = True
    with pytest.raises(HostUnfit, match="nothing can be written in its /tmp"), hold_ticket(hosts, ADA):
        raise AssertionError
    hosts["a"].is_full = False
    hosts["a"].queue.symlink_to("/")
    with pytest.raises(HostUnfit, match="is not as hvdocker makes it"), hold_ticket(hosts, ADA):
        raise AssertionError
    assert set(query_tickets(hosts).failed) == {"a"}
    hosts["b"].queue.symlink_to("/")
    hosts["a"].queue.unlink()
    with hold_ticket(hosts, ADA) as ada:
        assert ada.host == "a", "what is wrong elsewhere does not matter"
