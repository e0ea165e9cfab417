"""What is left to do for a job that ended with its head."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.head_loss import clean_up_lost_job, remove_secrets
from tests.unit.builders import host_with_worker, inventory, state_of
from tests.unit.fakes import FakeEngine, FakeLink

LAB = inventory("hosts: [a, b, c]\nport: 12345\n")
FORGET = ("hvdocker-lab-worker", ["rm", "-rf", "--", "/run/hvdocker/secrets/train-abcd"])


@dataclass
class Engine(FakeEngine):
    """Writes down what was to be run in containers."""

    executed: list[tuple[str, list[str]]] = field(default_factory=list)

    def exec_create(self, container: str, argv: list[str]) -> dict[str, str]:
        self.executed.append((container, argv))
        return {"Id": "exec"}

    def exec_start(self, made: str) -> bytes:
        return b""

    def exec_inspect(self, made: str) -> dict[str, int]:
        return {"ExitCode": 0}


@dataclass
class Link(FakeLink):
    own: Engine = field(default_factory=Engine)
    is_away: bool = False

    def engine(self) -> Engine:
        if self.is_away:
            raise HostUnreachable("the connection was lost", host=self.name)
        return self.own


def test_secrets_go_where_somebody_answers_and_what_fails_is_a_note(tmp_path: Path) -> None:
    events: list[Event] = []
    links = {"b": Link("b", is_away=True), "c": Link("c")}
    state = state_of(host_with_worker(LAB, "b"), host_with_worker(LAB, "c"))
    located = Located(LAB, tmp_path / "inventory.yaml")
    remove_secrets(Env(listener=events.append), located, links, state, "train-abcd")
    assert links["c"].own.executed == [FORGET]
    notes = [(event.host, event.text) for event in events if event.stage == "note"]
    assert notes == [("b", "secrets of train-abcd may be left there: the connection was lost")]


def test_where_nobody_answers_nothing_hides_that_the_head_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts are away for want of a key: no socket is opened."""
    monkeypatch.setenv("HOME", str(tmp_path))
    lab = inventory("hosts: [b]\nssh: {key: /no/such/key}\n")
    clean_up_lost_job(Env(cwd=tmp_path), Located(lab, tmp_path / "inventory.yaml"), "train-abcd", has_secrets=True)
