"""Commands in containers: what they say, piece by piece, and the end of processes."""

import json
from typing import Any

import pytest

from hvdocker.engine.container_exec import (
    ContainerCommand,
    GracePeriod,
    end_exec,
    end_ranks,
    stream_in_container,
)
from hvdocker.errors import HvdockerError
from tests.unit.fakes import FakeEngine, FakeLink

Piece = tuple[bytes | None, bytes | None]


class Engine(FakeEngine):
    """Answers an exec piece by piece; what is asked inside gets the next of `answers`."""

    def __init__(self, pieces: tuple[Piece, ...] = (), code: int = 0, answers: list[bytes] | None = None) -> None:
        super().__init__()
        self.pieces, self.code, self.answers = pieces, code, answers or []
        self.created: list[tuple[Any, ...]] = []

    def exec_create(self, container: str, argv: list[str], **how: Any) -> dict[str, str]:
        self.created.append((container, argv, how))
        return {"Id": "e1"}

    def exec_start(self, made: str, demux: bool, stream: bool = False) -> Any:
        return iter(self.pieces) if stream else (self.answers.pop(0), None)

    def exec_inspect(self, made: str) -> dict[str, int]:
        return {"ExitCode": self.code}


class Link(FakeLink):
    def __init__(self, engine: Engine) -> None:
        super().__init__("a")
        self.held = engine

    def engine(self) -> Engine:
        return self.held


def grace_period(grace_s: float = 5.0) -> GracePeriod:
    """Nobody sleeps: waiting moves the clock."""
    now = [0.0]
    return GracePeriod(grace_s, lambda: now[0], lambda seconds: now.__setitem__(0, now[0] + seconds))


def test_output_and_errors_as_they_come_and_the_exit_code() -> None:
    engine = Engine(((b"one\n", None), (None, b"two\n"), (b"", None), (b"x" * 70000, None)), code=7)
    heard: list[tuple[bytes, bool]] = []
    what = ContainerCommand(("ls", "-l"), "/train", "t0ken")
    code = stream_in_container(Link(engine), "worker", what, lambda data, is_error: heard.append((data, is_error)))
    assert code == 7
    assert heard == [(b"one\n", False), (b"two\n", True), (b"", False), (b"x" * 70000, False)]
    settings = {"workdir": "/train", "environment": {"HVDOCKER_EXEC": "t0ken"}}
    assert engine.created == [("worker", ["ls", "-l"], settings)]


def test_a_command_whose_end_is_not_known_is_an_error() -> None:
    engine = Engine()
    engine.code = None  # type: ignore[assignment]  # as of one that runs
    with pytest.raises(HvdockerError, match="before its end"):
        stream_in_container(
            Link(engine), "worker", ContainerCommand(("ls",), "/train", "t"), lambda data, is_error: None
        )


def test_what_ends_when_asked_is_not_killed() -> None:
    engine = Engine(answers=[b"12\n13\n", b"13\n", b""])
    end_exec(Link(engine), "worker", "t0ken", grace_period())
    assert [argv[4] for _, argv, _ in engine.created] == ["TERM", "0", "0"]


def test_what_does_not_end_in_its_grace_is_killed() -> None:
    engine = Engine(answers=[b"12\n", *[b"12\n"] * 4, b"12\n"])
    end_exec(Link(engine), "worker", "t0ken", grace_period(1.0))
    assert [argv[4] for _, argv, _ in engine.created] == ["TERM", "0", "0", "0", "0", "KILL"]


def test_ranks_are_ended_by_what_their_wrappers_wrote() -> None:
    engine = Engine(answers=[b"40\n", b""])
    engine.files = {"/run/hvdocker/ranks/train-abcd": json.dumps({"rank": 1, "pid": 40, "host": "b"}).encode()}
    assert end_ranks(Link(engine), "worker", "train-abcd", grace_period()) == 1
    assert [argv[4:] for _, argv, _ in engine.created] == [
        ["TERM", "HVDOCKER_JOB=train-abcd", "40"],
        ["0", "HVDOCKER_JOB=train-abcd", "40"],
    ]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pid": "7; rm"}', '{"pid": 1}', '{"pid": -4}', '{"pid": true}'])
def test_who_says_no_number_of_a_process_is_not_signalled(text: str) -> None:
    engine = Engine()
    engine.files = {"/run/hvdocker/ranks/train-abcd": text.encode()}
    assert end_ranks(Link(engine), "worker", "train-abcd", grace_period()) == 0
    assert engine.created == []


def test_where_no_rank_ran_nothing_is_done() -> None:
    engine = Engine()
    assert end_ranks(Link(engine), "worker", "train-abcd", grace_period()) == 0
    assert engine.created == []
