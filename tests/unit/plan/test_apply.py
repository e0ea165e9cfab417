"""Plans carried out on engines that only write down: the order, the errors, the way back."""

import threading
from dataclasses import dataclass, field

import docker.errors
import pytest

from hvdocker.cluster.steps import AwaitSshd, MakeFolders, RemoveContainer, RemoveTree, StartContainer
from hvdocker.errors import ExitCode, HostErrors, HvdockerError, Interrupted, Locked
from hvdocker.events import Event
from hvdocker.plan.apply import Context, apply, apply_all, roll_back
from hvdocker.plan.plan import Plan, Stage
from hvdocker.transport.pool import for_each_host
from tests.unit.builders import inventory
from tests.unit.fakes import FakeLink


@dataclass
class Engine:
    refuses: str = ""
    called: list[tuple[str, str]] = field(default_factory=list)

    def start(self, name: str) -> None:
        self._call("start", name)

    def remove_container(self, name: str, force: bool, v: bool) -> None:
        assert force and v
        self._call("remove", name)

    def _call(self, verb: str, name: str) -> None:
        if name == "gone":
            raise docker.errors.NotFound("no such container")
        if name == self.refuses:
            raise docker.errors.APIError("x", explanation=f"will not {verb} {name}")
        self.called.append((verb, name))


@dataclass
class Link(FakeLink):
    own: Engine = field(default_factory=Engine)

    def engine(self) -> Engine:
        return self.own


def context(**engines: Engine) -> tuple[Context, list[Event]]:
    events: list[Event] = []
    links = {name: Link(name, own=engine) for name, engine in engines.items()}
    return Context(inventory(), links, events.append, template=""), events


def plan(*stages: tuple[StartContainer | RemoveContainer, ...]) -> Plan:
    return Plan("up", "lab", tuple(Stage("containers", stage) for stage in stages))


def test_the_steps_of_a_host_in_order_and_every_one_told() -> None:
    a, b = Engine(), Engine()
    made, events = context(a=a, b=b)
    apply(plan((StartContainer("a", "1"), StartContainer("a", "2"), StartContainer("b", "3"))), made)
    assert a.called == [("start", "1"), ("start", "2")]
    assert b.called == [("start", "3")]
    assert [event for event in events if event.host == "a"] == [
        Event("containers", "start 1", "a"),
        Event("containers", "start 1", "a", is_end=True),
        Event("containers", "start 2", "a"),
        Event("containers", "start 2", "a", is_end=True),
    ]


def test_a_run_that_may_not_go_on_stops_at_the_next_step_and_undoing_does_not() -> None:
    a = Engine()
    made, _ = context(a=a)
    made.add_undo("a", "start 0", lambda: a.called.append(("undo", "0")))

    def guard() -> None:
        if a.called:
            raise Locked("the lock is another's")

    made.guard = guard
    with pytest.raises(Locked, match="another's"):
        apply(plan((StartContainer("a", "1"), StartContainer("a", "2"))), made)
    assert a.called == [("start", "1")]
    assert roll_back(made) == [] and a.called[1:] == [("undo", "0")]


def test_creation_stops_at_the_first_stage_that_fails() -> None:
    a = Engine(refuses="bad")
    made, _ = context(a=a)
    with pytest.raises(HvdockerError) as caught:
        apply(plan((StartContainer("a", "bad"),), (StartContainer("a", "next"),)), made)
    assert str(caught.value) == "a: the Docker engine refused: start bad"
    assert caught.value.lines == ("will not start bad",)
    assert a.called == []


def test_removal_goes_on_and_collects() -> None:
    a, b = Engine(refuses="bad"), Engine(refuses="bad")
    made, _ = context(a=a, b=b)
    errors = apply_all(
        plan(
            (RemoveContainer("a", "x", "bad"), RemoveContainer("b", "x", "bad")),
            (RemoveContainer("a", "y", "fine"), RemoveContainer("b", "y", "gone")),
        ),
        made,
    )
    assert [error.host for error in errors] == ["a", "b"]
    assert a.called == [("remove", "fine")]


@dataclass
class InStep(Engine):
    """Fails when its neighbour has begun too."""

    barrier: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))
    waits_at: str = ""

    def start(self, name: str) -> None:
        if self.waits_at in ("", name):
            self.barrier.wait(timeout=10)
        super().start(name)


def test_several_hosts_that_fail_are_one_error() -> None:
    barrier = threading.Barrier(2)
    made, _ = context(a=InStep("bad", barrier=barrier), b=InStep("bad", barrier=barrier))
    with pytest.raises(HostErrors, match="up failed on 2 hosts") as caught:
        apply(plan((StartContainer("a", "bad"), StartContainer("b", "bad"))), made)
    assert [error.host for error in caught.value.errors] == ["a", "b"]


def test_what_was_made_is_undone_newest_first() -> None:
    made, _ = context(a=Engine())
    undone: list[str] = []

    def failing() -> None:
        undone.append("two")
        raise docker.errors.APIError("x", explanation="no")

    made.add_undo("a", "one", lambda: undone.append("one"))
    made.add_undo("a", "two", failing)
    made.add_undo("a", "three", lambda: undone.append("three"))
    errors = roll_back(made)
    assert undone == ["three", "two", "one"]
    assert [str(error) for error in errors] == ["a: the Docker engine refused: undoing: two"]
    assert roll_back(made) == []


FOLDERS = Plan("up", "lab", (Stage("files", (MakeFolders("a", "/h", ("/h/code",)),)),))


@pytest.mark.parametrize(
    ("said", "undoes"), [(b"welcome\n", 0), (b"welcome\nhvdocker-new /h\n", 1)], ids=["was there", "is new"]
)
def test_a_folder_that_was_there_is_not_undone(said: bytes, undoes: int) -> None:
    made, _ = context(a=Engine())
    made.links["a"].answer = lambda command, stdin: (0, said, b"")
    apply(FOLDERS, made)
    assert len(made.undo) == undoes


def test_a_folder_that_was_half_made_is_undone() -> None:
    made, _ = context(a=Engine())
    made.links["a"].answer = lambda command, stdin: (1, b"hvdocker-new /h\n", b"no space")
    with pytest.raises(HvdockerError):
        apply(FOLDERS, made)
    assert [what for _, what, _ in made.undo] == ["folder /h"]


def test_files_of_another_user_are_removed_as_root() -> None:
    made, _ = context(a=Engine())
    link = made.links["a"]
    link.answer = lambda command, stdin: (0 if command.argv[0] == "sudo" else 1, b"", b"denied")
    assert apply_all(Plan("down", "lab", (Stage("files", (RemoveTree("a", "/h"),)),)), made) == []
    assert [command.argv[:2] for command, _ in link.ran] == [("sh", "-c"), ("sudo", "-n")]


def test_after_ctrl_c_work_ends_at_its_next_sign_of_progress() -> None:
    made, events = context(a=Engine())
    made.report_progress("image", "10 of 20 MB", "a")
    made.cancel()
    with pytest.raises(Interrupted) as caught:
        made.report_progress("image", "20 of 20 MB", "a")
    assert caught.value.exit_code == ExitCode.INTERRUPTED
    assert [event.text for event in events] == [
        "10 of 20 MB",
        "stopping as soon as what is under way allows it",
    ]


def test_after_ctrl_c_what_was_made_is_still_undone() -> None:
    a = Engine()
    made, events = context(a=a)
    made.add_undo("a", "create w", lambda: made.engine("a").remove_container("w", force=True, v=True))
    made.add_undo("a", "say", lambda: made.report_progress("undo", "undoing", "a"))
    made.cancel()
    assert roll_back(made) == []
    assert a.called == [("remove", "w")]
    assert events[-1] == Event("undo", "undoing", "a")


def test_what_all_hosts_need_is_asked_once() -> None:
    made, _ = context(a=Engine(), b=Engine())
    asked: list[str] = []

    def ask() -> str:
        asked.append("passwd")
        return "root"

    answers = for_each_host(["a", "b", "c"], lambda name: made.once("passwd", ask)).done
    assert (set(answers.values()), asked) == ({"root"}, ["passwd"])


def test_after_one_host_failed_to_tell_the_next_is_asked() -> None:
    made, _ = context(a=Engine())

    def fail() -> str:
        raise HvdockerError("lost")

    with pytest.raises(HvdockerError):
        made.once("passwd", fail)
    assert made.once("passwd", lambda: "root") == "root"


def test_within_a_wave_no_host_waits_for_another() -> None:
    """b's second step is what a's first step waits for."""
    barrier = threading.Barrier(2)
    a, b = InStep(barrier=barrier), InStep(barrier=barrier, waits_at="b2")
    made, events = context(a=a, b=b)
    stages = (
        Stage("containers", (StartContainer("a", "a1"), StartContainer("b", "b1"))),
        Stage("sshd", (StartContainer("b", "b2"),), follows_on=True),
    )
    apply(Plan("up", "lab", stages), made)
    assert (a.called, b.called) == ([("start", "a1")], [("start", "b1"), ("start", "b2")])
    assert Event("sshd", "start b2", "b") in events


@dataclass
class Listening(Link):
    """Says these one after the other, each time somebody asks for the greeting."""

    says: list[bytes | None] = field(default_factory=list)

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        assert (address, port) == ("10.0.0.11", 7)
        return self.says.pop(0)


AWAIT = Plan("up", "lab", (Stage("sshd", (AwaitSshd("a", "worker", "10.0.0.11", 7),)),))


def test_an_sshd_that_greets_costs_the_host_no_process() -> None:
    link = Listening("a", says=[b"", b"SSH-2.0-OpenSSH_9.2\r\n"])
    apply(AWAIT, Context(inventory(), {"a": link}, template=""))
    assert (link.says, link.ran, link.own.called) == ([], [], [])


@dataclass
class Checking(Engine):
    """An engine whose container finds that its sshd answers."""

    def exec_create(self, container: str, argv: list[str]) -> dict[str, str]:
        self.called.append((container, " ".join(argv)))
        return {"Id": "1"}

    def exec_start(self, made: str) -> bytes:
        return b""

    def exec_inspect(self, made: str) -> dict[str, int]:
        return {"ExitCode": 0}


def test_where_the_link_cannot_hear_sshd_the_worker_itself_is_asked() -> None:
    engine = Checking()
    apply(AWAIT, Context(inventory(), {"a": Listening("a", own=engine, says=[None])}, template=""))
    assert engine.called == [("worker", "/opt/hvdocker/bin/check sshd 10.0.0.11 7 30")]
