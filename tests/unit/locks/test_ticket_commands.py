"""The scripts of the queue, run by real shells against a folder of the test's own."""

import json
import os
import shutil
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.locks.ticket import RUNS, TicketText, ordinal, waiting_tickets
from hvdocker.locks.ticket_commands import (
    TicketAnswer,
    join_queue,
    leave_queue,
    list_tickets,
    read_tickets,
    renew_ticket,
)
from hvdocker.shell.command import Command

ADA = TicketText("aaaa", "ada", "laptop", "ada", "train", 'it\'s "lab"; $(rm)', wish="4 slots")
BOB = TicketText("bbbb", "bob", "desk", "bob", "train", "lab", wish="1 slot")
CYD = TicketText("cccc", "cyd", "desk", "cyd", "run", "lab", kind=RUNS)
SHELLS = [path for name in ("dash", "bash", "busybox") if (path := shutil.which(name))]
FULL = ("sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "full")


class Queue:
    def __init__(self, folder: Path, shell: str) -> None:
        self.folder, self._shell = folder, shell
        self.is_full = False

    def run(self, command: Command) -> TicketAnswer:
        words = [self._shell, *(["sh"] if self._shell.endswith("busybox") else []), *command.argv[1:]]
        words = [*FULL, *words] if self.is_full else words
        done = subprocess.run(words, capture_output=True, text=True, umask=0o077, check=True)
        assert done.stderr == ""
        answer = read_tickets(done.stdout)
        assert answer is not None
        return answer

    def join(self, sign: TicketText) -> TicketAnswer:
        return self.run(join_queue(sign, str(self.folder)))

    def renew(self, sign: TicketText, number: int) -> TicketAnswer:
        return self.run(renew_ticket(sign.token, number, str(self.folder)))

    def leave(self, sign: TicketText, number: int) -> TicketAnswer:
        return self.run(leave_queue(sign.token, number, str(self.folder)))

    def look(self, removes_dead_tickets: bool = True) -> TicketAnswer:
        return self.run(list_tickets(removes_dead_tickets, str(self.folder)))

    def who(self, removes_dead_tickets: bool = True) -> list[str]:
        return [ticket.owner for ticket in self.look(removes_dead_tickets).tickets]

    def age(self, seconds: float, name: object) -> None:
        then = time.time() - seconds
        os.utime(self.folder / str(name), (then, then))

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.is_dir() else []


@pytest.fixture(autouse=True)
def parent(tmp_path: Path) -> Path:
    (tmp_path / "a b").mkdir()
    return tmp_path / "a b"


@pytest.fixture(params=SHELLS, ids=lambda path: Path(path).name)
def queue(request: pytest.FixtureRequest, parent: Path) -> Queue:
    return Queue(parent / "it's.queue", request.param)


def test_tickets_stand_in_the_order_of_their_coming_and_leave_nothing(queue: Queue, parent: Path) -> None:
    assert (queue.look().state, queue.look().tickets) == ("seen", ())
    assert list(parent.iterdir()) == []
    first, second, third = (queue.join(sign) for sign in (ADA, BOB, CYD))
    assert {answer.state for answer in (first, second, third)} == {"present"}
    assert first.number < second.number < third.number
    assert queue.names() == sorted(str(answer.number) for answer in (first, second, third))
    assert stat.S_IMODE(queue.folder.stat().st_mode) == 0o777
    ticket = queue.folder / str(first.number)
    assert stat.S_IMODE(ticket.stat().st_mode) == 0o644
    assert abs(json.loads(ticket.read_text())["since"] - time.time()) < 60
    found = queue.look().tickets
    assert [(one.owner, one.kind, one.wish) for one in found] == [
        ("ada", "waits", "4 slots"), ("bob", "waits", "1 slot"), ("cyd", "runs", "?")
    ]  # fmt: skip
    assert (found[0].cluster, found[0].token, found[0].number) == (ADA.cluster, "aaaa", first.number)
    assert [one.owner for one in waiting_tickets(found, "lab")] == ["bob"], "who runs does not wait"
    assert queue.leave(ADA, second.number).state == "gone" and len(queue.who()) == 3, "only one's own"
    queue.leave(BOB, second.number)
    assert queue.who() == ["ada", "cyd"]
    assert queue.join(BOB).number > third.number
    for sign, number in ((ADA, first.number), (CYD, third.number)):
        queue.leave(sign, number)
    queue.leave(BOB, queue.look().tickets[0].number)
    assert list(parent.iterdir()) == []


def test_who_is_silent_for_a_minute_is_passed_over_and_notices(queue: Queue, parent: Path) -> None:
    first, second = queue.join(ADA).number, queue.join(BOB).number
    queue.age(50, first)
    assert queue.who() == ["ada", "bob"]
    queue.age(75, first)
    assert queue.who(removes_dead_tickets=False) == ["bob"] and len(queue.names()) == 2, (
        "who only looks changes nothing"
    )
    assert [one.owner for one in queue.renew(ADA, first).tickets] == ["ada", "bob"], "nobody had noticed"
    queue.age(75, first)
    assert queue.who() == ["bob"] and queue.names() == [str(second)]
    late = queue.renew(ADA, first)
    assert (late.state, [one.owner for one in late.tickets]) == ("gone", ["bob"])
    assert queue.names() == [str(second)], "a renewal brings nothing back"
    assert queue.join(ADA).number > second
    assert queue.who() == ["bob", "ada"]
    for name in queue.names():
        queue.age(75, name)
    assert queue.who() == [] and list(parent.iterdir()) == []


def test_a_clock_that_was_set_back_leaves_no_ticket_for_ever(queue: Queue) -> None:
    number = queue.join(ADA).number
    queue.age(-500, number)
    assert queue.who() == [] and queue.names() == []


def test_what_a_killed_client_left_half_made_goes_too(queue: Queue) -> None:
    queue.join(ADA)
    (queue.folder / ".try.dddd.7").write_text("{}")
    queue.who()
    assert ".try.dddd.7" in queue.names(), "it may be at work"
    queue.age(75, ".try.dddd.7")
    queue.who()
    assert ".try.dddd.7" not in queue.names()


@pytest.mark.parametrize("kind", ["link", "dangling", "file"])
def test_what_others_put_in_the_way_is_never_written_through(queue: Queue, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "precious"
    target.mkdir()
    if kind == "file":
        queue.folder.write_text("mine")
    else:
        queue.folder.symlink_to(target if kind == "link" else tmp_path / "nowhere")
    for answer in (queue.join(ADA), queue.renew(ADA, 7), queue.leave(ADA, 7), queue.look()):
        assert answer.state == "unusable" and "is not a folder" in answer.reason
    assert list(target.iterdir()) == [] and not (tmp_path / "nowhere").exists()


def test_what_others_put_into_the_folder_is_neither_read_nor_written_through(queue: Queue, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text('{"token": "aaaa", "owner": "eve"}\n')
    queue.folder.mkdir()
    soon = int(time.time()) + 1000
    for name in (1, soon):
        (queue.folder / str(name)).symlink_to(precious)
    os.mkfifo(queue.folder / str(soon + 1))
    (queue.folder / str(soon + 2)).mkdir()
    for name, text in (("3", ""), ("4", "rubbish"), ("5", "[1]"), ("0x1", "{}"), ("9" * 30, "{}")):
        (queue.folder / name).write_text(text)
    assert queue.renew(ADA, 1).state == "gone" and queue.renew(ADA, soon).state == "gone"
    queue.leave(ADA, 1)
    joined = queue.join(ADA)
    assert joined.state == "present" and joined.number == soon + 3
    assert queue.who() == ["ada"]
    assert precious.read_text() == '{"token": "aaaa", "owner": "eve"}\n'
    assert (queue.folder / "1").is_symlink()


def test_a_record_cannot_pass_for_another_or_write_to_a_terminal(queue: Queue) -> None:
    queue.join(BOB)
    evil = json.dumps({"token": "eeee", "owner": "e\x1b[31mve", "wish": "\x1b[2J", "kind": 7})
    (queue.folder / "5").write_text(f'{evil}\nticket 1 0 {{"token": "ffff", "owner": "mallory"}}\ndone\n')
    (queue.folder / "6").write_bytes(b'{"token": "eeef", "owner": "nul"}\x00\x0bstate present')
    (queue.folder / "7").write_text('{"token": "eef0", "owner": "' + "x" * 9999 + '"}')
    found = queue.look().tickets
    assert [ticket.owner for ticket in found] == ["bob"], "with more behind it, it is no record"
    (queue.folder / "5").write_text(evil)
    eve = queue.look().tickets[0]
    assert (eve.owner, eve.wish, eve.kind) == ("e?[31mve", "?[2J", "?")


def test_a_disk_that_takes_nothing_is_told_from_what_is_in_the_way(queue: Queue, parent: Path) -> None:
    queue.is_full = True
    answer = queue.join(ADA)
    assert answer.state == "unwritable" and answer.reason and "%" in answer.disk
    assert list(parent.iterdir()) == [], "no empty folder stays"
    queue.is_full = False
    number = queue.join(ADA).number
    queue.is_full = True
    assert queue.renew(ADA, number).state == "present", "a sign of life takes no room"
    assert queue.leave(ADA, number).state == "gone" and list(parent.iterdir()) == []


def test_of_many_at_once_each_has_a_number_of_its_own(queue: Queue, parent: Path) -> None:
    crowd = [replace(BOB, token=f"{number:04x}") for number in range(8)]
    for _ in range(2):
        with ThreadPoolExecutor(len(crowd)) as pool:
            numbers = [answer.number for answer in pool.map(queue.join, crowd)]
        assert len(set(numbers)) == len(crowd) and all(numbers)
        with ThreadPoolExecutor(len(crowd)) as pool:
            list(pool.map(queue.leave, crowd, numbers))
        assert list(parent.iterdir()) == []


def test_a_script_that_did_not_run_is_no_answer() -> None:
    assert read_tickets("") is None and read_tickets("state present\n") is None


def test_places_are_counted_as_people_count() -> None:
    shown = [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)]
    assert shown == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]
