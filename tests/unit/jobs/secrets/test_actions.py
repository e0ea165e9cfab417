"""Secrets on their way into containers, and out of them when a run fails."""

from dataclasses import dataclass, field

import docker.errors
import pytest

from hvdocker.cluster.steps import StartContainer
from hvdocker.errors import HvdockerError
from hvdocker.events import Event
from hvdocker.jobs.secrets.steps import OverwriteSecrets, PutSecrets, RemoveSecrets
from hvdocker.plan.apply import Context, apply, roll_back
from hvdocker.plan.plan import Step, plan_of
from hvdocker.secret import Secret, SecretSource
from tests.unit.builders import inventory
from tests.unit.fakes import FakeEngine, FakeLink

VALUE = b"s3cr3t\xff"
SOURCES = (SecretSource("TOKEN"),)
INTO_MASTER = PutSecrets("a", "master", 1000, 1001, "job-a", SOURCES, is_master=True)
INTO_WORKER = PutSecrets("b", "worker", 1000, 1001, "job-a", SOURCES)


@dataclass
class Engine(FakeEngine):
    """Keeps archives, remembers commands, and starts nothing."""

    code: int = 0
    ran: list[tuple[str, list[str]]] = field(default_factory=list)

    def start(self, name: str) -> None:
        raise docker.errors.APIError("x", explanation=f"will not start {name}")

    def exec_create(self, container: str, argv: list[str]) -> dict[str, str]:
        self.ran.append((container, argv))
        return {"Id": "x"}

    def exec_start(self, made: str) -> bytes:
        return b"rm: no"

    def exec_inspect(self, made: str) -> dict[str, int]:
        return {"ExitCode": self.code}


@dataclass
class Link(FakeLink):
    own: Engine = field(default_factory=Engine)

    def engine(self) -> Engine:
        return self.own


def context(**engines: Engine) -> tuple[Context, list[Event]]:
    events: list[Event] = []
    links = {name: Link(name, own=engine) for name, engine in engines.items()}
    made = Context(inventory(), links, events.append, template="", secrets={"TOKEN": Secret(VALUE)})
    return made, events


def run(context: Context, *stages: list[Step]) -> None:
    apply(plan_of("train", "lab", *(("secrets", stage) for stage in stages)), context)


def test_they_go_in_as_archives_and_are_told_of_by_name_only() -> None:
    head, other = Engine(), Engine()
    made, events = context(a=head, b=other)
    run(made, [INTO_MASTER, INTO_WORKER])
    assert [(name, folder) for name, folder, _ in head.put + other.put] == [
        ("master", "/run/hvdocker"),
        ("worker", "/run/hvdocker"),
    ]
    assert VALUE in head.put[0][2] and VALUE in other.put[0][2]
    assert "s3cr3t" not in f"{events} {made.secrets}"


def test_a_run_that_fails_takes_them_out_of_workers_again() -> None:
    head, other = Engine(), Engine()
    made, _ = context(a=head, b=other)
    with pytest.raises(HvdockerError, match="start master"):
        run(made, [INTO_MASTER, INTO_WORKER], [StartContainer("a", "master")])
    assert roll_back(made) == []
    assert (head.ran, other.ran) == ([], [("worker", ["rm", "-rf", "--", "/run/hvdocker/secrets/job-a"])])


def test_those_of_a_killed_master_are_overwritten() -> None:
    head = Engine()
    made, _ = context(a=head)
    run(made, [OverwriteSecrets("a", "master", "job-a", ("TOKEN",))])
    [(container, _, data)] = head.put
    assert container == "master" and b"secrets/job-a/TOKEN" in data and VALUE not in data


def test_what_an_earlier_job_left_and_cannot_be_removed_stops_no_new_one() -> None:
    engine = Engine(code=1)
    made, events = context(b=engine)
    run(made, [RemoveSecrets("b", "worker", ("x-1", "x-2"))])
    removal = ["rm", "-rf", "--", "/run/hvdocker/secrets/x-1", "/run/hvdocker/secrets/x-2"]
    assert engine.ran == [("worker", removal)]
    (note,) = [event for event in events if event.stage == "note"]
    assert note.host == "b" and "may be left there" in note.text and "rm: no" in note.text
