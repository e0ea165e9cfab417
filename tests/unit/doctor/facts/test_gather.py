"""Facts that are gathered on a host: the clock, a short-lived container, the code."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.doctor.facts.code_drift import see_code
from hvdocker.doctor.facts.gather import Attempts, see_clock, see_machine
from hvdocker.doctor.facts.trial_commands import trial_body, trial_spec
from hvdocker.doctor.facts.trial_container import try_container
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.errors import HvdockerError
from hvdocker.shell.command import Command
from hvdocker.sync.sync import sync_host
from hvdocker.sync.walk import read_tree
from tests.unit.builders import MAKER, host_seen, inventory, state_of
from tests.unit.fakes import FakeLink, RecordingLink

INSIDE = b'hvdocker-inside {"versions": {}, "cuda": null, "shm": 1, "memlock": null, "files": 2}\n'


def test_a_clock_is_compared_in_the_middle_of_the_round_trip() -> None:
    link = FakeLink(answer=lambda command, stdin: (0, b"100.5\n", b""))
    assert abs(see_clock(link, lambda: 100.0).offset_s - 0.5) < 0.1
    assert len(link.ran) == 3


def test_what_cannot_be_found_out_is_kept_beside_the_rest() -> None:
    attempts = Attempts("a")
    link = FakeLink(answer=lambda command, stdin: (127, b"", b"sh: not found"))
    assert attempts.attempt("looking", lambda: see_machine(link, "/", [], [])) is None
    assert attempts.attempt("timing", lambda: see_clock(link, lambda: 0.0)) is None
    assert attempts.attempt("reckoning", lambda: 1 + 1) == 2
    assert [(error.host, error.lines) for error in attempts.failures] == [("a", ("sh: not found",))] * 2


class Engine:
    """Keeps what it is told; `on_start` and `on_exec` may raise."""

    def __init__(self, on_start: Any = None, on_exec: Any = None) -> None:
        self.made: dict[str, dict[str, Any]] = {}
        self.removed: list[str] = []
        self._on_start, self._on_exec = on_start, on_exec

    def create_container_from_config(self, body: dict[str, Any], name: str) -> dict[str, str]:
        self.made[name] = body
        return {"Id": name}

    def start(self, made: str) -> None:
        if self._on_start:
            self._on_start(self.made[made])

    def exec_create(self, made: str, argv: list[str]) -> dict[str, str]:
        return {"Id": made}

    def exec_start(self, made: str) -> bytes:
        if self._on_exec:
            self._on_exec()
        return INSIDE

    def remove_container(self, made: str, force: bool, v: bool) -> None:
        self.removed.append(made)
        raise NotFound("the engine was faster")


def make(has_gpus: bool) -> ContainerSpec:
    lab = inventory()
    place = plan_hosts(lab, state_of(host_seen("a"), host_seen("b")))["a"]
    return trial_spec(lab, place, MAKER, "x:y", "gpu" if has_gpus else "plain", has_gpus)


def test_a_container_that_disturbs_nobody() -> None:
    body = trial_body(make(True))
    host = body["HostConfig"]
    assert (host["NetworkMode"], host["Binds"], host["AutoRemove"]) == ("none", [], True)
    assert (host["CapDrop"], host["CapAdd"], host["SecurityOpt"]) == (["ALL"], [], ["no-new-privileges"])
    assert host["DeviceRequests"] and body["User"] == "1000:1001" and host["ShmSize"]
    assert (body["Entrypoint"], body["Cmd"]) == (["sleep"], ["30"])
    labels = body["Labels"]
    assert (labels["hvdocker.role"], labels["hvdocker.cluster"], labels["hvdocker.owner"]) == (
        "doctor",
        "lab",
        "ada",
    )
    assert "DeviceRequests" not in trial_body(make(False))["HostConfig"]


def test_a_container_is_taken_away_whatever_happens() -> None:
    engine = Engine()
    assert try_container(engine, make, False).inside and engine.removed == list(engine.made)

    def interrupt() -> None:
        raise KeyboardInterrupt

    engine = Engine(on_exec=interrupt)
    with pytest.raises(KeyboardInterrupt):
        try_container(engine, make, False)
    assert engine.removed == list(engine.made)


def test_without_the_toolkit_the_rest_is_tried_all_the_same() -> None:
    def refuse_gpus(body: dict[str, Any]) -> None:
        if "DeviceRequests" in body["HostConfig"]:
            raise APIError("x", explanation="could not select device driver")

    engine = Engine(on_start=refuse_gpus)
    found = try_container(engine, make, True)
    assert found.gpu_error == "could not select device driver" and found.inside and not found.error
    assert len(engine.removed) == 2

    def refuse(body: dict[str, Any]) -> None:
        raise APIError("x", explanation="no space left")

    dead = try_container(Engine(on_start=refuse), make, True)
    assert (dead.error, dead.gpu_error, dead.inside) == ("no space left", None, None)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("a")
    (folder / "odd \\ name.py").write_text("odd")
    (folder / "link").symlink_to("a.py")
    return folder


@contextlib.contextmanager
def synced(code: Path, target: Path) -> Iterator[RecordingLink]:
    link = RecordingLink()
    sync_host(link, read_tree(code), str(target))
    yield link


def test_code_as_the_last_sync_brought_it(code: Path, tmp_path: Path) -> None:
    target = tmp_path / "host" / "code"
    with synced(code, target) as link:
        before = sorted(tmp_path.rglob("*"))
        seen = see_code(link, str(target))
        assert (seen.hash, seen.files, seen.edited) == (read_tree(code).hash, 3, ())
        (target / "a.py").touch()
        assert see_code(link, str(target)).edited == ()
        (target / "odd \\ name.py").write_text("ODD")
        assert see_code(link, str(target)).edited == ("odd \\ name.py",)
        (target / "a.py").unlink()
        assert see_code(link, str(target)).edited == ("a.py", "odd \\ name.py")
    (target / "a.py").touch()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_host_without_code(tmp_path: Path) -> None:
    seen = see_code(RecordingLink(), str(tmp_path / "none"))
    assert (seen.hash, seen.files, seen.edited, seen.is_unfinished) == (None, 0, (), False)


def test_an_answer_about_code_that_cannot_be_read() -> None:
    def mumble(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
        return 0, b"differs \nrubbish", b""

    with pytest.raises(HvdockerError):
        see_code(FakeLink(answer=mumble), "/code")
