"""The scripts of the lock, run by real shells against a folder of the test's own."""

import json
import os
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.locks.holder import Claim, read_holder
from hvdocker.locks.lock_takeover_commands import (
    LockAnswer,
    beat_lock,
    look_at_lock,
    read_lock,
    release_lock,
    take_lock,
)
from hvdocker.shell.command import Command

ADA = Claim("aaaa", "ada", "laptop", "ada", "up", 'it\'s "lab"; $(rm)')
BOB = Claim("bbbb", "bob", "desk", "bob", "train", "lab")
SHELLS = [path for name in ("dash", "bash", "busybox") if (path := shutil.which(name))]


# Nothing can be written in files: what a full disk is like on a host with no other.
FULL = ("sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "full")


class Lock:
    def __init__(self, folder: Path, shell: str) -> None:
        self.folder, self._shell = folder, shell
        self.is_full = False

    def run(self, command: Command, umask: int = 0o022) -> LockAnswer:
        words = [self._shell, *(["sh"] if self._shell.endswith("busybox") else []), *command.argv[1:]]
        words = [*FULL, *words] if self.is_full else words
        done = subprocess.run(words, capture_output=True, text=True, umask=umask, check=True)
        assert done.stderr == ""
        answer = read_lock(done.stdout)
        assert answer is not None
        return answer

    def take(self, claim: Claim, umask: int = 0o022) -> LockAnswer:
        return self.run(take_lock(claim, str(self.folder)), umask)

    def beat(self, claim: Claim) -> LockAnswer:
        return self.run(beat_lock(claim.token, str(self.folder)))

    def release(self, claim: Claim) -> LockAnswer:
        return self.run(release_lock(claim.token, str(self.folder)))

    def look(self) -> LockAnswer:
        return self.run(look_at_lock(str(self.folder)))

    def age(self, seconds: float, name: str = "who.json") -> None:
        then = time.time() - seconds
        os.utime(self.folder / name, (then, then))

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture(params=SHELLS, ids=lambda path: Path(path).name)
def lock(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lock]:
    yield Lock(tmp_path / "a b" / "it's.lock", request.param)


@pytest.fixture(autouse=True)
def parent(tmp_path: Path) -> Path:
    (tmp_path / "a b").mkdir()
    return tmp_path / "a b"


def test_a_lock_says_who_holds_it_and_leaves_nothing(lock: Lock, parent: Path) -> None:
    assert lock.look() == replace(lock.look(), state="free", holder=None)
    assert list(parent.iterdir()) == []
    assert lock.take(ADA, umask=0o077).is_taken
    assert lock.names() == ["who.json"]
    assert stat.S_IMODE(lock.folder.stat().st_mode) == 0o777
    assert stat.S_IMODE((lock.folder / "who.json").stat().st_mode) == 0o644
    written = json.loads((lock.folder / "who.json").read_text())
    assert {
        "owner": "ada",
        "machine": "laptop",
        "verb": "up",
        "cluster": ADA.cluster,
    }.items() <= written.items()
    assert abs(written["since"] - time.time()) < 60
    refused = lock.take(BOB)
    assert refused.state == "held" and refused.holder and refused.holder.who == "ada@laptop"
    assert (refused.holder.doing, refused.holder.is_stale) == (f"`up` of cluster {ADA.cluster}", False)
    assert lock.take(ADA).is_taken, "a machine that is named twice does not lock itself out"
    assert lock.release(BOB).state == "held" and lock.look().holder
    assert lock.release(ADA).state == "free"
    assert list(parent.iterdir()) == []


def test_a_stale_lock_is_taken_over_and_its_holder_notices(lock: Lock, parent: Path) -> None:
    lock.take(ADA)
    lock.age(59)
    assert lock.take(BOB).state == "held"
    lock.age(75)
    assert (found := lock.look().holder) and found.is_stale
    taken = lock.take(BOB)
    assert taken.is_taken and taken.replaced_holder and taken.replaced_holder.who == "ada@laptop"
    assert 75 <= taken.replaced_holder.age_s < 135
    assert lock.names() == ["who.json"]
    late = lock.beat(ADA)
    assert late.state == "held" and late.holder and late.holder.who == "bob@desk"
    assert lock.release(ADA).state == "held"
    assert lock.beat(BOB).is_taken
    lock.release(BOB)
    assert list(parent.iterdir()) == []


def test_a_beat_keeps_a_lock_alive_and_brings_none_back(lock: Lock, parent: Path) -> None:
    assert lock.beat(ADA).state == "free" and list(parent.iterdir()) == []
    lock.take(ADA)
    lock.age(500)
    assert lock.beat(ADA).is_taken
    assert lock.take(BOB).state == "held"


def test_a_run_that_took_over_and_died_before_tidying_up_is_the_holder(lock: Lock, parent: Path) -> None:
    """Dead between the two renames: the chain is followed."""
    lock.take(ADA)
    (lock.folder / "next.aaaa").write_text('{"token": "bbbb", "since": 1, "owner": "bob", "machine": "desk"}\n')
    assert (found := lock.look().holder) and found.who == "bob@desk"
    assert lock.beat(ADA).state == "held" and lock.beat(BOB).is_taken
    assert lock.release(ADA).state == "held", "the first of the chain is not removed from under the last"
    lock.age(90, "next.aaaa")
    cyd = replace(ADA, token="cccc", owner="cyd")
    assert (taken := lock.take(cyd)).is_taken and taken.replaced_holder and taken.replaced_holder.who == "bob@desk"
    assert (found := lock.look().holder) and found.who == "cyd@laptop"
    lock.release(cyd)
    assert list(parent.iterdir()) == []


def test_a_name_that_was_linked_too_late_leads_nowhere(lock: Lock, parent: Path) -> None:
    """A breaker that looked before the stale holder came back and gave its lock to another."""
    lock.take(ADA)
    (lock.folder / "next.dddd").write_text('{"token": "eeee", "owner": "eve"}\n')
    assert (found := lock.look().holder) and found.who == "ada@laptop"
    lock.release(ADA)
    assert list(parent.iterdir()) == []


def test_a_lock_that_is_being_given_back_is_not_taken_over_until_it_is_stale(lock: Lock, parent: Path) -> None:
    lock.take(ADA)
    (lock.folder / "next.aaaa").write_text("")
    assert (found := lock.look().holder) and found.owner == "?"
    assert lock.release(ADA).state == "held"
    lock.age(90, "next.aaaa")
    assert lock.take(BOB).is_taken
    lock.release(BOB)
    assert list(parent.iterdir()) == []


def test_a_file_that_is_no_record_of_ours_can_be_released_and_goes_stale(lock: Lock, parent: Path) -> None:
    lock.folder.mkdir()
    for text in ("", "rubbish", '{"token": "../../x"}', "[1]"):
        (lock.folder / "who.json").write_text(text)
        assert (found := lock.look().holder) and found.owner == "?"
        lock.age(90)
        assert lock.take(ADA).is_taken
        lock.release(ADA)
        lock.folder.mkdir()
        (lock.folder / "who.json").write_text(text)
        assert lock.run(release_lock(found.token, str(lock.folder))).state == "free"
        assert list(parent.iterdir()) == []
        lock.folder.mkdir()


@pytest.mark.parametrize("kind", ["link", "dangling", "file", "inner link", "inner folder", "fifo"])
def test_what_others_put_there_is_never_written_through(lock: Lock, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "precious"
    target.mkdir()
    if kind in ("inner link", "inner folder", "fifo"):
        lock.folder.mkdir()
    if kind == "link":
        lock.folder.symlink_to(target)
    elif kind == "dangling":
        lock.folder.symlink_to(tmp_path / "nowhere")
    elif kind == "file":
        lock.folder.write_text("mine")
    elif kind == "inner link":
        (lock.folder / "who.json").symlink_to(target / "who.json")
    elif kind == "inner folder":
        (lock.folder / "who.json").mkdir()
    else:
        os.mkfifo(lock.folder / "who.json")
    for answer in (lock.take(ADA), lock.beat(ADA), lock.release(ADA), lock.look()):
        assert (answer.state, answer.is_taken) == ("unusable", False) and "is not a" in answer.reason
    assert [name for name in left_in(lock.folder) if name != "who.json"] == []
    assert list(target.iterdir()) == [] and not (tmp_path / "nowhere").exists()


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def test_a_disk_that_takes_nothing_is_told_from_what_is_in_the_way(lock: Lock, parent: Path) -> None:
    lock.is_full = True
    answer = lock.take(ADA)
    assert (answer.state, answer.holder) == ("unwritable", None)
    assert "%" in answer.disk and answer.reason
    assert list(parent.iterdir()) == [], "no empty folder stays"
    lock.is_full = False
    assert lock.take(ADA).is_taken
    lock.is_full = True
    assert lock.take(ADA).is_taken
    held = lock.take(BOB)
    assert held.state == "held" and held.holder and held.holder.who == "ada@laptop"
    lock.age(75)
    assert lock.take(BOB).state == "unwritable"
    assert lock.beat(ADA).is_taken and lock.names() == ["who.json"]
    assert lock.release(ADA).state == "free" and list(parent.iterdir()) == []


def test_a_folder_above_that_is_not_there_to_write_in(lock: Lock, parent: Path) -> None:
    """As on a file system that is read-only: not even the folder can be made."""
    shim = parent.parent / "bin" / "mkdir"
    shim.parent.mkdir()
    shim.write_text('#!/bin/sh\necho "mkdir: Read-only file system" >&2\nexit 1\n')
    shim.chmod(0o755)
    if lock._shell.endswith("busybox"):
        return  # its own `mkdir` is the shell's
    path = f"{shim.parent}:{os.environ['PATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        answer = lock.take(ADA)
    assert (answer.state, answer.reason) == ("unwritable", "mkdir: Read-only file system")


def test_a_folder_above_that_is_a_link_is_the_machines_own_business(lock: Lock, tmp_path: Path) -> None:
    """As /tmp is on macOS."""
    (tmp_path / "tmp").symlink_to(lock.folder.parent)
    elsewhere = Lock(tmp_path / "tmp" / lock.folder.name, lock._shell)
    assert elsewhere.take(ADA).is_taken and lock.take(BOB).state == "held"
    assert elsewhere.release(ADA).state == "free"


@pytest.mark.parametrize("is_stale", [False, True], ids=["free", "stale"])
def test_of_many_at_once_exactly_one_gets_it(lock: Lock, parent: Path, is_stale: bool) -> None:
    for _ in range(3):
        if is_stale:
            lock.take(ADA)
            lock.age(100)
        crowd = [replace(BOB, token=f"{number:04x}") for number in range(8)]
        with ThreadPoolExecutor(len(crowd)) as pool:
            answers = list(pool.map(lock.take, crowd))
        [winner] = [claim for claim, answer in zip(crowd, answers, strict=True) if answer.is_taken]
        assert {answer.state for answer in answers} == {"taken", "held"}
        assert [bool(answer.replaced_holder) for answer in answers].count(True) == is_stale
        assert lock.beat(winner).is_taken and lock.names() == ["who.json"]
        with ThreadPoolExecutor(len(crowd)) as pool:
            list(pool.map(lock.release, crowd))
        assert list(parent.iterdir()) == []


def test_taking_and_giving_back_in_turns_never_lets_two_in(lock: Lock, parent: Path) -> None:
    """Each round checks, while it holds the lock, that nobody else is inside."""
    inside: list[str] = []
    wrong: list[str] = []

    def visit(number: int) -> int:
        claim, got = replace(BOB, token=f"{number:04x}"), 0
        for _ in range(6):
            if lock.take(claim).is_taken:
                inside.append(claim.token)
                wrong.extend(inside if len(inside) > 1 else [])
                inside.remove(claim.token)
                lock.release(claim)
                got += 1
        return got

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(visit, range(4))) > 0
    assert wrong == [] and list(parent.iterdir()) == []


def test_a_holder_that_comes_back_too_late_removes_nothing_of_its_successor(lock: Lock) -> None:
    """Ada gives her lock back; between her look at it and what she does, Bob takes it over for stale."""
    lock.take(ADA)
    who = shlex.quote(str(lock.folder / "who.json"))
    bob = f"touch -d '2 minutes ago' {who}; {take_lock(BOB, str(lock.folder)).line()} >/dev/null"
    shell, option, script, *words = release_lock(ADA.token, str(lock.folder)).argv
    looked = "\nholds || none\n"
    assert script.count(looked) == 1
    answer = lock.run(Command((shell, option, script.replace(looked, f"{looked}{bob}\n"), *words)))
    assert answer.state == "held" and answer.holder and answer.holder.who == "bob@desk"
    assert lock.beat(BOB).is_taken and lock.names() == ["who.json"]


def test_of_two_releases_at_once_none_leaves_the_folder(lock: Lock) -> None:
    """A host with two names in an inventory: the other release has removed the files, but not yet the folder."""
    lock.take(ADA)
    shell, option, script, *words = release_lock(ADA.token, str(lock.folder)).argv
    looked = "\nholds || none\n"
    assert script.count(looked) == 1
    answer = lock.run(Command((shell, option, script.replace(looked, f"{looked}rm -f who.json\n"), *words)))
    assert answer.state == "free" and not lock.folder.exists()


def test_the_beginning_of_the_chain_goes_first(lock: Lock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ada took over a stale lock and died before she replaced who.json. If next.bbbb went before who.json, the lock
    would be stale again for a moment: another client could take it, and the release would remove that client's file."""
    if lock._shell.endswith("busybox"):
        return  # its own `rm` is the shell's
    lock.take(BOB)
    (lock.folder / "next.bbbb").write_text('{"token": "aaaa", "since": 1}\n')
    shim, real = tmp_path / "bin" / "rm", shutil.which("rm")
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(tmp_path / "removed"))}\nexec {real} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    assert lock.release(ADA).state == "free" and not lock.folder.exists()
    assert (tmp_path / "removed").read_text() == "-f -- who.json next.bbbb next.aaaa\n"


def test_nothing_in_a_record_reaches_a_terminal() -> None:
    record = json.dumps({"token": "\x1b[2J", "owner": "e\x1b[31mve", "machine": "x\ny", "since": "soon", "verb": 7})
    holder = read_holder(record, -5, 100)
    assert (holder.token, holder.owner, holder.machine) == ("0", "e?[31mve", "x?y")
    assert (holder.verb, holder.cluster, holder.age_s, holder.held_s) == ("?", "?", 0, 0)


def test_a_record_cannot_pass_for_a_line_of_the_script(lock: Lock) -> None:
    lock.folder.mkdir()
    (lock.folder / "who.json").write_text('{"token": "aaaa"}\x0bstate taken\x0bage 0\x0bwas_age 9\n')
    lock.age(5)
    answer = lock.take(BOB)
    assert answer.state == "held" and answer.replaced_holder is None


def test_a_script_that_did_not_run_is_no_answer() -> None:
    assert read_lock("") is None and read_lock("state taken\n") is None
