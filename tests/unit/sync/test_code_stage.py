"""The code stage of a plan: hosts synced together, each told its own outcome."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from hvdocker.errors import HostUnreachable, Interrupted
from hvdocker.events import Event
from hvdocker.plan.apply import Context, apply
from hvdocker.plan.plan import Plan, Stage
from hvdocker.shell.command import Command
from hvdocker.sync.steps import SyncCode
from hvdocker.transport.link import CommandResult
from hvdocker.transport.local_link import LocalLink
from tests.unit.builders import inventory


class Broken(LocalLink):
    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 60.0
    ) -> CommandResult:
        if stdin is None:
            return super().run(command, stdin, timeout_s)
        for _ in stdin:
            raise HostUnreachable("the connection was lost")
        raise AssertionError("it was fed nothing")


class Run:
    def __init__(self, root: Path) -> None:
        self.root, self.here = root, root / "project"
        self.here.mkdir()
        self.events: list[Event] = []
        links = {"a": LocalLink("a"), "b": LocalLink("b")}
        self.context = Context(inventory(), links, self.events.append, template="")
        self.links = links

    def apply(self) -> None:
        steps = [SyncCode(name, str(self.here), str(self.root / name / "code")) for name in self.links]
        self.context.tree = None
        apply(Plan("train", "lab", (Stage("code", tuple(steps)),)), self.context)

    def told(self, host: str) -> list[str]:
        return [event.text for event in self.events if event.host == host and not event.is_end]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Run(tmp_path)


def test_every_host_tells_what_it_was_sent(run: Run) -> None:
    (run.here / "train.py").write_text("12345")
    run.apply()
    assert run.told("a")[-1] == run.told("b")[-1] == "1 file sent (5 B), 0 removed"
    run.events.clear()
    run.apply()
    assert set(run.told("a")) == {f"sync {run.here} to {run.root / 'a' / 'code'}"}


def test_a_log_that_grows_while_it_is_synced_is_sent_in_part_with_a_note(run: Run) -> None:
    """As `hvdocker train train.py | tee train.log` makes it."""
    log = run.here / "train.log"
    log.write_text("line\n")

    def listen(event: Event) -> None:
        run.events.append(event)
        if event.text.startswith("sync "):
            with log.open("a") as file:
                file.write("more\n")

    run.context.listener = listen
    run.apply()
    assert {(run.root / name / "code" / "train.log").read_text() for name in "ab"} == {"line\n"}
    notes = [event.text for event in run.events if event.stage == "note"]
    assert notes == ["train.log grew while it was read: the first 5 bytes were sent"]


def test_a_large_transfer_shows_how_far_it_is(run: Run) -> None:
    (run.here / "data.bin").write_bytes(os.urandom(20 << 20))
    run.apply()
    bars = [event for event in run.events if event.host == "b" and event.total]
    assert {event.total for event in bars} == {20 << 20}
    assert bars[-1].done == 20 << 20
    assert 10 < len(bars) <= 100


def test_a_small_one_does_not(run: Run) -> None:
    (run.here / "train.py").touch()
    run.apply()
    assert [event for event in run.events if event.total] == []


def test_the_host_that_failed_is_named_and_the_others_are_synced(run: Run) -> None:
    (run.here / "train.py").touch()
    run.context.links = {**run.context.links, "b": Broken("b")}
    with pytest.raises(HostUnreachable) as caught:
        run.apply()
    assert str(caught.value) == "b: the connection was lost"
    assert (run.root / "a" / "code" / "train.py").exists()


def test_ctrl_c_ends_a_transfer(run: Run) -> None:
    del run.links["b"]
    (run.here / "data.bin").write_bytes(os.urandom(20 << 20))

    def interrupt(event: Event) -> None:
        if event.total:
            run.context.cancelled.set()

    run.context.listener = interrupt
    with pytest.raises(Interrupted):
        run.apply()
    assert not (run.root / "a" / "code" / "data.bin").exists()
