"""Locks of several hosts, which are folders of this machine: all or none, in order, alive, given back."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.errors import ExitCode, HostErrors, HostUnfit, HostUnreachable, HvdockerError, Locked
from hvdocker.events import Event
from hvdocker.locks.held_locks import (
    HeldLocks,
    LockOptions,
    LockUnwritable,
    find_dead_locks,
    hold_locks,
    query_locks,
    release_dead_locks,
    release_locks_of,
)
from hvdocker.locks.holder import LOCK_DIR, Claim
from hvdocker.locks.process_id import own_process_id
from hvdocker.shell.command import Command
from hvdocker.transport.link import CommandResult
from hvdocker.transport.local_link import LocalLink

ADA = Claim("aaaa", "ada", "laptop", "ada", "up", "one")
BOB = Claim("bbbb", "bob", "desk", "bob", "train", "two")
SOON_S = 20.0


def interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class Machine(LocalLink):
    """This machine as a host whose /tmp is a folder of the test's; `order` writes down who was asked."""

    def __init__(self, name: str, folder: Path, asked: list[str]) -> None:
        super().__init__(name)
        self.folder, self.asked = folder / name, asked
        self.folder.mkdir()
        self.is_gone = self.is_full = self.is_interrupting = False

    @property
    def lock(self) -> Path:
        return self.folder / "hvdocker.lock"

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = None
    ) -> CommandResult:
        if self.is_gone:
            raise HostUnreachable("gone", host=self.name)
        self.asked.append(self.name)
        words = tuple(str(self.lock) if word == LOCK_DIR else word for word in command.argv)
        assert words != command.argv
        if self.is_full:  # nothing can be written in files
            words = ("sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "full", *words)
        if self.is_interrupting:
            interrupt()
        return super().run(Command(words), stdin, timeout_s)

    def age(self, seconds: float) -> None:
        then = time.time() - seconds
        os.utime(self.lock / "who.json", (then, then))


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def hosts(tmp_path: Path, asked: list[str]) -> dict[str, Machine]:
    return {name: Machine(name, tmp_path, asked) for name in ("c", "a", "b")}


def only(hosts: dict[str, Machine], *names: str) -> dict[str, Machine]:
    return {name: hosts[name] for name in names}


def locked(hosts: dict[str, Machine]) -> list[str]:
    return sorted(name for name, host in hosts.items() if host.lock.exists())


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_all_hosts_are_locked_for_as_long_as_the_block_lasts(hosts: dict[str, Machine]) -> None:
    with hold_locks(hosts, ADA) as held:
        assert locked(hosts) == ["a", "b", "c"]
        held.raise_if_lost()
        assert {answer.holder and answer.holder.who for answer in query_locks(hosts).done.values()} == {"ada@laptop"}
    assert locked(hosts) == []


@pytest.mark.parametrize("error", [HvdockerError("no"), KeyboardInterrupt(), SystemExit()])
def test_whatever_ends_the_block_gives_the_locks_back(hosts: dict[str, Machine], error: BaseException) -> None:
    with pytest.raises(type(error)), hold_locks(hosts, ADA):
        raise error
    assert locked(hosts) == []


def test_a_held_host_is_named_with_its_holder_and_the_others_are_given_back(
    hosts: dict[str, Machine],
) -> None:
    HeldLocks(only(hosts, "a", "b"), BOB).take(0)
    for name in ("a", "b"):
        _make_old(hosts[name])
    with pytest.raises(HostErrors) as caught, hold_locks(hosts, ADA):
        raise AssertionError
    assert caught.value.exit_code == ExitCode.LOCKED
    [(names, error)] = caught.value.grouped()
    assert sorted(names) == ["a", "b"]
    assert error.what.startswith("the host is locked: bob@desk is running `train` of cluster two since ")
    assert error.fix and "--lock-wait" in error.fix and "hvdocker lock release " in error.fix
    assert error.fix.endswith(" --force"), "another owner's"
    assert locked(hosts) == ["a", "b"]


def test_what_to_do_about_a_lock_means_this_cluster(hosts: dict[str, Machine]) -> None:
    """From whatever folder; --force only where the owner is another."""
    manner = LockOptions(" -i ../lab.yaml")
    HeldLocks(only(hosts, "a"), replace(BOB, owner="ada")).take(0)
    _make_old(hosts["a"])
    with pytest.raises(Locked) as caught, hold_locks(only(hosts, "a"), ADA, options=manner):
        raise AssertionError
    assert str(caught.value.fix).endswith("if that run is dead: hvdocker lock release a -i ../lab.yaml")
    with hold_locks(only(hosts, "b"), ADA, beat_s=0.02, options=manner) as held:
        release_locks_of(hosts, {name: a.holder for name, a in query_locks(only(hosts, "b")).done.items() if a.holder})
        until(lambda: held.is_lost)
        with pytest.raises(Locked) as lost:
            held.raise_if_lost()
    assert str(lost.value.fix).startswith("see hvdocker lock status -i ../lab.yaml, ")


def test_a_full_disk_is_shown_as_one_and_stops_only_who_needs_the_lock(hosts: dict[str, Machine]) -> None:
    told: list[Event] = []
    hosts["b"].is_full = True
    with pytest.raises(LockUnwritable) as caught, hold_locks(hosts, ADA, told.append):
        raise AssertionError
    error = caught.value
    assert (error.host, error.exit_code) == ("b", ExitCode.UNFIT)
    assert "nothing can be written in its /tmp" in error.what and "%" in error.lines[-1]
    assert error.fix and "rm -rf" not in error.fix and "du -xah /tmp" in error.fix
    assert locked(hosts) == [] and told == []
    with hold_locks(hosts, ADA, told.append, options=LockOptions(is_needed=False)) as held:
        assert locked(hosts) == ["a", "c"]
        held.raise_if_lost()
    assert locked(hosts) == []
    [note] = told
    assert (note.stage, note.host) == ("note", "b") and note.text.startswith("goes on without a lock: ")


def test_a_full_disk_is_no_way_around_a_lock_that_somebody_holds(hosts: dict[str, Machine]) -> None:
    HeldLocks(only(hosts, "b"), BOB).take(0)
    _make_old(hosts["b"])
    hosts["b"].is_full = True
    with pytest.raises(Locked), hold_locks(hosts, ADA, options=LockOptions(is_needed=False)):
        raise AssertionError
    assert locked(hosts) == ["b"]


def test_every_host_is_asked_once_for_its_lock_however_often_ctrl_c_comes(
    hosts: dict[str, Machine], asked: list[str]
) -> None:
    held = HeldLocks(hosts, ADA)
    held.take(0)
    asked.clear()
    for host in hosts.values():
        host.is_interrupting = True
    with pytest.raises(KeyboardInterrupt):
        held.release()
    assert sorted(asked) == ["a", "b", "c"] and locked(hosts) == []


def _make_old(host: Machine) -> None:
    """Its holder has it for an hour, and is alive."""
    who = host.lock / "who.json"
    text = who.read_text()
    since = text.partition('"since": ')[2].partition(",")[0]
    who.write_text(text.replace(since, str(int(since) - 3600)))


def test_a_host_is_waited_for_and_the_others_are_taken_in_order(hosts: dict[str, Machine], asked: list[str]) -> None:
    first = HeldLocks(only(hosts, "b"), BOB)
    first.take(0)
    told: list[Event] = []

    def listen(event: Event) -> None:
        told.append(event)
        if "waiting" in event.text:
            asked.clear()
            first.release()

    with hold_locks(hosts, ADA, listen, wait_s=SOON_S):
        assert locked(hosts) == ["a", "b", "c"]
    assert [event.host for event in told if "waiting: bob@desk" in event.text] == ["b"]
    # After b was waited for: c, then all of them are given back.
    assert [name for name in asked if name != "b"][:1] == ["c"]


def test_two_who_want_the_same_hosts_at_once_both_get_them_in_turn(hosts: dict[str, Machine]) -> None:
    inside: list[str] = []
    wrong: list[list[str]] = []

    def visit(token: str) -> None:
        for _ in range(3):
            with hold_locks(hosts, replace(BOB, token=token), wait_s=120):
                inside.append(token)
                wrong.extend([list(inside)] if len(inside) > 1 else [])
                inside.remove(token)

    threads = [threading.Thread(target=visit, args=(token,)) for token in ("01", "02", "03")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and locked(hosts) == []


def test_a_stale_lock_is_taken_over_and_that_is_said(hosts: dict[str, Machine]) -> None:
    told: list[Event] = []
    HeldLocks(only(hosts, "a"), BOB).take(0)
    hosts["a"].age(75)
    with hold_locks(hosts, ADA, told.append):
        pass
    [note] = told
    assert (note.stage, note.host) == ("note", "a")
    assert note.text.startswith("took over the stale lock of bob@desk (`train` of cluster two, since ")
    assert "no sign of life for 1 min 1" in note.text or "no sign of life for 1 min 2" in note.text


def test_beats_keep_a_lock_alive(hosts: dict[str, Machine]) -> None:
    with hold_locks(only(hosts, "a"), ADA, beat_s=0.02):
        hosts["a"].age(500)
        until(lambda: (hosts["a"].lock / "who.json").stat().st_mtime > time.time() - 60)


def test_a_beat_that_cannot_be_written_is_no_lost_lock(
    hosts: dict[str, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that became read-only: `touch` fails, and the lock is still this run's."""
    beats, touch = tmp_path / "beats", tmp_path / "bin" / "touch"
    touch.parent.mkdir()
    touch.write_text(f"#!/bin/sh\necho >> '{beats}'\nexit 1\n")
    touch.chmod(0o755)
    monkeypatch.setenv("PATH", str(touch.parent), prepend=":")
    with hold_locks(only(hosts, "a"), ADA, beat_s=0.02) as held:
        until(lambda: beats.exists() and len(beats.read_text()) > 2)
        assert not held.is_lost
        held.raise_if_lost()


def test_a_run_whose_lock_went_to_another_may_not_go_on(hosts: dict[str, Machine]) -> None:
    with hold_locks(only(hosts, "a"), ADA, beat_s=0.02) as held:
        hosts["a"].is_gone = True
        hosts["a"].age(500)
        hosts["a"].is_gone = False
        other = HeldLocks(only(hosts, "a"), BOB)
        # Its own beat may have come first.
        until(lambda: _robs(other, hosts["a"]))
        until(lambda: held.is_lost)
        with pytest.raises(Locked, match=r"^the lock of a was taken away from this run: bob@desk is running `train`"):
            held.raise_if_lost()
    assert locked(hosts) == ["a"], "what is another's is not given back"
    other.release()


def _robs(held: HeldLocks, host: Machine) -> bool:
    host.age(500)
    try:
        held.take(0)
    except Locked:
        return False
    return True


def test_a_lock_that_a_person_released_is_noticed(hosts: dict[str, Machine]) -> None:
    told: list[Event] = []
    with hold_locks(only(hosts, "a", "b"), ADA, told.append, beat_s=0.02) as held:
        holders = {name: answer.holder for name, answer in query_locks(hosts).done.items() if answer.holder}
        assert sorted(holders) == ["a", "b"]
        release_locks_of(hosts, {"a": holders["a"]})
        until(lambda: held.is_lost)
        with pytest.raises(Locked, match=r"^the lock of a was .*somebody released it"):
            held.raise_if_lost()
        until(lambda: told)
    [event] = told
    assert event.text.startswith("the lock of a was taken away from this run: somebody released it")
    assert locked(hosts) == []


def test_a_host_that_is_gone_frees_itself_and_the_others_are_given_back(hosts: dict[str, Machine]) -> None:
    told: list[Event] = []
    with hold_locks(hosts, ADA, told.append):
        hosts["b"].is_gone = True
    assert locked(hosts) == ["b"]
    assert [(event.host, "free in 60 s" in event.text) for event in told] == [("b", True)]


def test_one_machine_under_two_names_does_not_lock_itself_out(hosts: dict[str, Machine]) -> None:
    hosts["b"].folder = hosts["a"].folder
    with hold_locks(hosts, ADA):
        assert locked(hosts) == ["a", "b", "c"]
    assert locked(hosts) == []


def test_what_lies_in_the_way_is_shown(hosts: dict[str, Machine]) -> None:
    hosts["a"].lock.write_text("not ours")
    with pytest.raises(HostUnfit) as caught, hold_locks(hosts, ADA):
        raise AssertionError
    assert caught.value.host == "a" and "is not a folder" in caught.value.lines[0]
    assert caught.value.fix and f"sudo rm -rf {LOCK_DIR}" in caught.value.fix
    assert locked(hosts) == ["a"]


def test_a_run_from_here_that_is_gone_is_not_waited_for(hosts: dict[str, Machine]) -> None:
    """As after a lost connection; a process that lives keeps its lock."""
    boot, space, number, start = own_process_id().split(" ")
    for process, is_left in (
        (f"{boot} {space} {number} {int(start) + 1}", True),
        (own_process_id(), False),
    ):
        left = HeldLocks(only(hosts, "a"), replace(ADA, process=process))
        left.take(0)
        events: list[Event] = []
        with contextlib.ExitStack() as stack:
            if not is_left:
                stack.enter_context(pytest.raises(Locked))
            with hold_locks(only(hosts, "a"), BOB, events.append):
                assert "an earlier run from here is gone: ada@laptop" in events[0].text
        left.release()
        assert locked(hosts) == []


def test_locks_of_the_dead_are_cleared_and_those_of_the_living_stay(hosts: dict[str, Machine]) -> None:
    """One gave no sign of life for long, one was a process of this machine; the third lives elsewhere."""
    HeldLocks(only(hosts, "a"), BOB).take(0)
    hosts["a"].age(70)
    ended = replace(ADA, process=f"{own_process_id().rpartition(' ')[0]} 0")
    HeldLocks(only(hosts, "b"), ended).take(0)
    HeldLocks(only(hosts, "c"), replace(BOB, token="cccc")).take(0)
    dead = {name: holder.who for name, holder in find_dead_locks(hosts).items()}
    assert dead == {"a": "bob@desk", "b": "ada@laptop"}
    assert locked(hosts) == ["a", "b", "c"], "looking changes nothing"
    assert {name: holder.who for name, holder in release_dead_locks(hosts).items()} == dead
    assert locked(hosts) == ["c"]


def test_a_host_that_cannot_tell_of_its_lock_is_passed_over(hosts: dict[str, Machine]) -> None:
    HeldLocks(only(hosts, "a"), BOB).take(0)
    hosts["a"].age(70)
    hosts["b"].is_gone = True
    assert list(release_dead_locks(hosts)) == ["a"]
