"""A link that breaks while a job is watched, and who is gone where it stays broken. Time is a number here."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import CommandTimeout, ExitCode, HeadLost, HostUnfit, HostUnreachable, HvdockerError
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.head_loss import JobHead, diagnose_from_hosts, head_of
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.jobs.log.reconnect import Reconnect
from hvdocker.jobs.lookup import FoundJob, JobsSeen
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Resilience
from hvdocker.shell.command import Command
from hvdocker.training.inputs.request import JobInputs, TrainRequest
from hvdocker.training.inputs.user_command import UserCommand
from hvdocker.training.relaunch import Relaunch, relaunch_of
from hvdocker.transport.link import CommandResult
from hvdocker.transport.session import Session
from tests.unit.builders import host_seen, host_with_worker, inventory, master, state_of
from tests.unit.fakes import FakeLink

LOCATED = Located(inventory("hosts: [a, b, c]"), Path("/nowhere/inventory.yaml"))
AGAIN = "the job goes on without this terminal; watch it with: hvdocker logs -f train-abcd"


@dataclass
class Answering:
    """`code` is what a worker's look at the head ends with."""

    code: int = 0
    asked: list[tuple[str, list[str]]] = field(default_factory=list)

    def ping(self) -> bool:
        return True

    def exec_create(self, container: str, argv: list[str]) -> dict[str, str]:
        self.asked.append((container, argv))
        return {"Id": "e1"}

    def exec_start(self, made: str, demux: bool) -> tuple[None, None]:
        return None, None

    def exec_inspect(self, made: str) -> dict[str, int]:
        return {"ExitCode": self.code}


@dataclass
class Link(FakeLink):
    is_closed: bool = False
    heard: bytes | None = b""
    logs: str = ""
    worker: Answering = field(default_factory=Answering)

    def engine(self) -> Answering:  # type: ignore[override]  # as much of an engine as is asked
        return self.worker

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        assert (address, port) == ("10.0.0.11", 12345)
        return self.heard

    def run(self, command: Command, stdin: object = None, timeout_s: float | None = 1.0) -> CommandResult:
        return CommandResult(command, 0, self.logs.encode(), b"")

    def close(self) -> None:
        self.is_closed = True


@dataclass
class World:
    """`outcomes` are what opening a link leads to, one after the other; the last one stays."""

    outcomes: list[Link | BaseException]
    verdict: HvdockerError | None = None
    now: float = 0.0
    slept: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    broken: Link = field(default_factory=Link)

    def open(self, env: Env, located: Located, name: str) -> Link:
        self.now += 2
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def listen(self, event: Event) -> None:
        self.notes.append(event.text)

    def reconnect(self) -> Reconnect:
        self.session = Session({"a": self.broken}, {})
        return Reconnect(
            Env(listener=self.listen),
            LOCATED,
            self.session,
            "train-abcd",
            "a",
            diagnose=lambda: self.verdict,
            open=self.open,
            clock=lambda: self.now,
            sleep=self.sleep,
        )


def away() -> HostUnreachable:
    return HostUnreachable("did not answer", host="a")


def lost() -> HostUnreachable:
    return HostUnreachable("the connection was lost", host="a", fix="run the same command again")


def test_a_link_that_comes_back_takes_the_place_of_the_broken_one() -> None:
    link = Link()
    world = World([away(), HostUnfit("no engine yet", host="a"), away(), link])
    assert world.reconnect()(lost()) is link
    assert world.session.links == {"a": link} and world.broken.is_closed and not link.is_closed
    assert world.slept == [0.5, 1.0, 2.0]
    assert world.notes == [
        "the link to a broke; trying again for 60 s; the job goes on meanwhile",
        "the link to a is back",
    ]


def test_nobody_to_be_reached_means_that_the_job_goes_on_without_us() -> None:
    world = World([away()])
    error = lost()
    with pytest.raises(HostUnreachable, match="the connection was lost") as caught:
        world.reconnect()(error)
    assert caught.value is error
    assert (error.exit_code, error.fix) == (ExitCode.UNREACHABLE, AGAIN)
    assert 50 < world.now <= 62


def test_a_head_that_is_gone_is_the_error() -> None:
    gone = HeadLost("the head a does not answer: the job ended with it")
    with pytest.raises(HeadLost) as caught:
        World([away()], gone).reconnect()(lost())
    assert caught.value is gone


def test_an_engine_that_stays_down_is_the_error() -> None:
    with pytest.raises(HostUnfit, match="no engine"):
        World([HostUnfit("no engine", host="a")], HeadLost("never asked")).reconnect()(lost())


def test_ctrl_c_leaves_and_stops_nothing() -> None:
    with pytest.raises(HostUnreachable) as caught:
        World([KeyboardInterrupt()]).reconnect()(lost())
    assert caught.value.fix == AGAIN


JOB = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("a", 1), Share("b", 2))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=(),
    launcher=JobLauncher("horovod"),
    workdir="/train",
)
HEAD = JobHead("train-abcd", "a", "10.0.0.11", 12345, {"a": "/home/a/job", "b": "/home/b/job"})


def judge(**links: Link) -> HvdockerError | None:
    return diagnose_from_hosts(LOCATED, HEAD, links)


def test_labels_tell_of_the_head_to_a_user_who_did_not_start_the_job() -> None:
    lab = inventory("hosts: [a, b, c]\nport: 12345\n")
    running = master("train-abcd", '{"a":1,"b":2,"c":1}')
    seen = host_with_worker(lab, "a")
    on_head = replace(seen, containers=(*seen.containers, running))
    state = state_of(on_head, host_with_worker(lab, "b"))
    folders = {name: f"/home/{name}/.hvdocker/lab/{name}/jobs/train-abcd" for name in ("a", "b")}
    assert head_of(FoundJob("train-abcd", JobsSeen(state, {}), running)) == replace(HEAD, folders=folders)


def test_without_the_heads_worker_nobody_can_be_asked_about_it() -> None:
    running = master("train-abcd", '{"a":1}')
    state = state_of(host_seen("a", containers=(running,)))
    assert head_of(FoundJob("train-abcd", JobsSeen(state, {}), running)) is None


def test_a_head_that_others_hear_lives_and_the_job_goes_on() -> None:
    error = judge(b=Link("b"), c=Link("c", heard=b"SSH-2.0"))
    assert type(error) is HostUnreachable
    assert str(error) == "the head a cannot be reached from here, but from c: the job goes on"
    assert error.fix and "hvdocker logs -f train-abcd" in error.fix


def test_where_a_host_may_not_forward_its_worker_is_asked() -> None:
    link = Link("b", heard=None)
    error = judge(b=link)
    assert str(error) == "the head a cannot be reached from here, but from b: the job goes on"
    argv = ["/opt/hvdocker/bin/check", "sshd", "10.0.0.11", "12345", "5"]
    assert link.worker.asked == [("hvdocker-lab-worker", argv)]


def test_where_nobody_can_find_out_the_head_is_not_called_dead() -> None:
    assert judge(b=Link("b", heard=None, worker=Answering(126))) is None
    assert isinstance(judge(b=Link("b", heard=None, worker=Answering(126)), c=Link("c")), HeadLost)


def test_a_host_that_is_too_slow_to_be_probed_is_tried_again_and_then_asked_after() -> None:
    slow, link = CommandTimeout("a command took longer than 30 s", host="a"), Link()
    assert World([slow, link]).reconnect()(lost()) is link
    gone = HeadLost("the head a does not answer: the job ended with it")
    with pytest.raises(HeadLost):
        World([slow], gone).reconnect()(lost())


@pytest.mark.parametrize("heard", [b"", None])
def test_a_head_that_nobody_hears_is_gone_and_the_last_words_of_others_are_told(heard: bytes | None) -> None:
    logs = "hvdocker-file rank-1.log\nhvdocker: rank 1 on b, start 2, now\nhvdocker: rank 1 on b, start 2, now\n"
    logs += "epoch 3\nConnection closed by peer\n\nhvdocker-file rank-2.log\n\n"
    error = judge(
        b=Link("b", heard=heard, logs=logs, worker=Answering(1)),
        c=Link("c", logs="hvdocker-file rank-9.log\nno rank here"),
    )
    assert isinstance(error, HeadLost)
    assert str(error) == "the head a does not answer: the job ended with it"
    assert (error.restart, error.exit_code) == (2, ExitCode.UNREACHABLE)
    assert error.lines == ("last words of rank 1 on b:", "  epoch 3", "  Connection closed by peer")
    assert error.fix and "hvdocker up" in error.fix and "--restarts" in error.fix


def wish(restarts: int) -> JobInputs:
    return JobInputs(TrainRequest(), UserCommand((), Path("/x"), "x"), None, {}, {}, Resilience(restarts=restarts))


@pytest.mark.parametrize(
    ("restarts", "before", "seen", "resilience"),
    [
        (1, 0, 0, Resilience(restarts=0, first_restart=1)),
        (5, 0, 2, Resilience(restarts=2, first_restart=3)),
        (5, 3, 0, Resilience(restarts=1, first_restart=4)),
    ],
    ids=["the first", "after what ranks were started with", "after another head"],
)
def test_a_job_whose_head_is_gone_is_started_again(
    restarts: int, before: int, seen: int, resilience: Resilience
) -> None:
    notes: list[str] = []
    env = Env(listener=lambda event: notes.append(event.text))
    job = replace(JOB, resilience=Resilience(restarts=restarts - before, first_restart=before), code_hash="c0de")
    gone = HeadLost("the head a does not answer: the job ended with it", restart=seen)
    assert relaunch_of(env, LOCATED, wish(restarts), job, gone) == Relaunch("train-abcd", resilience, 3, "c0de", gone)
    assert notes == [
        "the head a does not answer: the job ended with it; train-abcd is started again on the hosts "
        f"that still respond (restart {resilience.first_restart} of {restarts})"
    ]


@pytest.mark.parametrize(("restarts", "seen"), [(0, 0), (2, 2)])
def test_without_a_restart_left_the_head_is_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: int, seen: int
) -> None:
    """Hosts are away for want of a key: no socket is opened."""
    monkeypatch.setenv("HOME", str(tmp_path))
    lab = Located(inventory("hosts: [b]\nssh: {key: /no/such/key}\n"), tmp_path / "inventory.yaml")
    gone = HeadLost("gone", restart=seen)
    with pytest.raises(HeadLost) as caught:
        relaunch_of(Env(cwd=tmp_path), lab, wish(restarts), JOB, gone)
    assert caught.value is gone
