"""A person's own programs around verbs; real ones, small."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable, HvdockerError, Interrupted, JobFailed, UsageProblem
from hvdocker.events import Event
from hvdocker.hooks.hooks import HOOK_NAMES, Hooks, exit_code_of
from hvdocker.inventory.locate import read_inventory
from hvdocker.protocol.placement import Placement, Share
from hvdocker.training.report import Started, Viewer
from hvdocker.training.train_hooks import TrainHooks

TELLS = """#!/bin/sh
echo "${0##*/} ${HVDOCKER_JOB-none} ${HVDOCKER_EXIT_CODE-none} $HVDOCKER_HOSTS" >> told
"""


def without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith("HVDOCKER_")}


@dataclass
class World:
    folder: Path
    said: list[bytes] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=lambda: without_ours(os.environ))

    def hook(self, name: str, text: str = TELLS) -> Path:
        path = self.folder / ".hvdocker" / "hooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def hooks(self, is_skipped: bool = False) -> Hooks:
        env = Env(cwd=self.folder, environ=self.environ, listener=self.events.append)
        located = read_inventory(env, self.folder / "inventory.yaml")
        return Hooks(env, located, "up", is_skipped, self.said.append)

    @property
    def told(self) -> list[str]:
        path = self.folder / "told"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def notes(self) -> list[str]:
        return [event.text for event in self.events if event.stage == "note"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "inventory.yaml").write_text("cluster: lab\nhosts: [a, b]\n")
    return World(tmp_path)


@contextmanager
def raising(kind: type[BaseException]) -> Iterator[None]:
    with pytest.raises(kind):
        yield


def test_a_hook_knows_what_it_is_for(world: World) -> None:
    """It stands in the inventory's folder, and has nothing to read from."""
    world.environ |= {"HVDOCKER_EXIT_CODE": "of an outer hook", "HVDOCKER_HOOK": "post-up"}
    world.hook("pre-up", "#!/bin/sh\nenv | grep ^HVDOCKER_ | sort\npwd\ncat\n")
    world.hooks().before("up")
    assert b"".join(world.said).decode().splitlines() == [
        "HVDOCKER_CLUSTER=lab",
        "HVDOCKER_HOOK=post-up,pre-up",
        "HVDOCKER_HOSTS=a,b",
        f"HVDOCKER_INVENTORY={world.folder}/inventory.yaml",
        "HVDOCKER_VERB=up",
        str(world.folder),
    ]


def test_around_a_verb_that_succeeds(world: World) -> None:
    for name in HOOK_NAMES:
        world.hook(name)
    with world.hooks().around("up"):
        assert world.told == ["pre-up none none a,b"]
    assert world.told == ["pre-up none none a,b", "post-up none 0 a,b"]


def test_around_a_verb_that_did_without_a_host(world: World) -> None:
    for name in HOOK_NAMES:
        world.hook(name)
    with world.hooks().around("up") as end:
        end.code = 4
    assert world.told == ["pre-up none none a,b", "post-up none 4 a,b"]


@pytest.mark.parametrize(
    ("error", "code"),
    [(HostUnreachable("x"), 4), (HvdockerError("x"), 1), (KeyboardInterrupt(), 130), (ValueError(), 1)],
)
def test_around_a_verb_that_fails(world: World, error: BaseException, code: int) -> None:
    world.hook("on-failure")
    world.hook("post-up")
    with raising(type(error)), world.hooks().around("up"):
        raise error
    assert world.told == [f"on-failure none {code} a,b"]


def test_a_command_that_is_wrong_itself_is_no_failure(world: World) -> None:
    world.hook("on-failure")
    with raising(UsageProblem), world.hooks().around("up"):
        raise UsageProblem("what?")
    assert world.told == []


def test_a_hook_that_fails_before_stops_the_verb(world: World) -> None:
    world.hook("pre-up", "#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8 9 10 11; do echo line $n; done\nexit 3\n")
    world.hook("on-failure")
    with pytest.raises(HvdockerError) as caught, world.hooks().around("up"):
        raise AssertionError("the verb does not run")
    assert caught.value.what == "the hook pre-up failed with exit code 3, so nothing was done"
    assert caught.value.lines == tuple(f"line {n}" for n in range(2, 12))
    assert (caught.value.exit_code, caught.value.command) == (1, f"{world.folder}/.hvdocker/hooks/pre-up")
    assert world.told == ["on-failure none 1 a,b"]


def test_a_hook_that_fails_afterwards_is_a_note(world: World) -> None:
    world.hook("post-up", "#!/bin/sh\necho no more room\nkill -9 $$\n")
    with world.hooks().around("up"):
        pass
    assert world.notes == ["the hook post-up was killed by signal 9: no more room"]


def test_what_cannot_be_run_says_why(world: World) -> None:
    world.hook("pre-up", "echo no interpreter is named\n")
    with pytest.raises(HvdockerError, match="pre-up cannot be run: Exec format error"):
        world.hooks().before("up")


def test_a_process_that_a_hook_leaves_behind_keeps_nobody_waiting(world: World) -> None:
    """It has the hook's output open until the test lets it go."""
    os.mkfifo(world.folder / "gate")
    world.hook("pre-up", "#!/bin/sh\n(read line < gate) &\necho started\n")
    world.hooks().before("up")
    assert world.said == [b"started\n"]
    (world.folder / "gate").write_text("go\n")


def test_a_hook_does_not_run_itself_again(world: World) -> None:
    world.hook("pre-up")
    world.hook("post-up")
    world.environ["HVDOCKER_HOOK"] = "pre-up,pre-train"
    with world.hooks().around("up"):
        pass
    assert world.told == ["post-up none 0 a,b"]


def test_skipped_hooks_are_not_even_looked_at(world: World) -> None:
    world.hook("pre-up").parent.chmod(0o777)
    with world.hooks(is_skipped=True).around("up"):
        pass
    assert (world.told, world.notes) == ([], [])


@pytest.mark.parametrize("part", ["folder", "file"])
def test_what_everybody_could_have_written_is_refused(world: World, part: str) -> None:
    path = world.hook("pre-up")
    path = path.parent if part == "folder" else path
    path.chmod(0o777)
    with pytest.raises(HvdockerError) as caught:
        world.hooks().before("up")
    assert caught.value.what == f"{path} is not run: everybody may write to it"
    assert caught.value.fix == f"chmod go-w {path}; or leave hooks out: --skip-hooks"
    assert world.told == []


def test_what_is_not_to_be_trusted_afterwards_is_a_note(world: World) -> None:
    world.hook("post-up").chmod(0o777)
    world.hooks().after("up", 0)
    assert world.told == [] and world.notes[0].endswith("post-up is not run: everybody may write to it")


def test_what_is_not_executable_is_told_of(world: World) -> None:
    world.hook("pre-up").chmod(0o644)
    world.hooks().before("up")
    assert len(world.notes) == 1 and world.notes[0].startswith("the hook pre-up is not executable")


INFO = Started("train-abcd", Placement((Share("b", 1),)), 1)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (None, ["post-train train-abcd 0 b"]),
        (JobFailed("x"), ["post-train train-abcd 100 b", "on-failure train-abcd 100 b"]),
        (Interrupted("x"), ["post-train train-abcd 130 b", "on-failure train-abcd 130 b"]),
        # The job goes on unseen.
        (HostUnreachable("x"), ["on-failure train-abcd 4 b"]),
    ],
)
def test_around_a_job(world: World, error: BaseException | None, told: list[str]) -> None:
    for name in HOOK_NAMES:
        world.hook(name)
    seen: list[Started] = []
    viewer = Viewer(started=seen.append)

    def work() -> None:
        with TrainHooks(world.hooks()).around(viewer):
            viewer.started(INFO)
            if error:
                raise error

    if error:
        with raising(type(error)):
            work()
    else:
        work()
    assert world.told == ["pre-train none none a,b", *told]
    assert seen == [INFO]


def test_a_job_that_never_started_has_no_end(world: World) -> None:
    for name in HOOK_NAMES:
        world.hook(name)
    with raising(JobFailed), TrainHooks(world.hooks()).around(Viewer(), tells_failure=False):
        raise JobFailed("x")
    assert world.told == ["pre-train none none a,b"]


def test_another_cluster_has_the_same_hooks(world: World) -> None:
    world.hook("pre-down", "#!/bin/sh\necho $HVDOCKER_CLUSTER\n")
    hooks = world.hooks()
    own = replace(hooks.located, inventory=replace(hooks.located.inventory, cluster="lab-abcd"))
    hooks.for_cluster(own).before("down")
    assert world.said == [b"lab-abcd\n"]


def test_the_code_that_a_program_ends_with() -> None:
    assert [exit_code_of(error) for error in (SystemExit(7), SystemExit("text"), JobFailed(""))] == [
        7,
        1,
        100,
    ]
