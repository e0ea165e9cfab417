"""A job once more: what is asked for, and where its code comes from."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.capsule import CodeUsed, GitSeen
from hvdocker.jobs.capsule.git import observe_git
from hvdocker.jobs.capsule.store import StoredCapsule
from hvdocker.launchers import named
from hvdocker.protocol.resilience import Resilience
from hvdocker.sync.walk import read_tree
from hvdocker.training.inputs.request import TrainRequest, check_launcher
from hvdocker.training.make_capsule import request_fields
from hvdocker.training.replay import ReplayOptions, replay_request, restored_code, with_environment
from tests.unit.builders import CAPSULE, inventory

KEPT = StoredCapsule(CAPSULE, b"patch")
SOURCE = Path("/tmp/then")


def again(kept: StoredCapsule = KEPT, **options: object) -> TrainRequest:
    return replay_request(kept, ReplayOptions(**options), SOURCE)


def asked(**request: object) -> StoredCapsule:
    return StoredCapsule(replace(CAPSULE, secrets=(), request={**CAPSULE.request, **request}))


def test_the_same_is_asked_for() -> None:
    assert again(is_detached=True, lock_wait_s=5.0) == TrainRequest(
        script="/tmp/then/train.py",
        rest=("--epochs", "3"),
        np=3,
        launcher="horovod",
        workdir=SOURCE,
        secrets=("TOKEN", "KEY=@/home/ada/key"),
        is_detached=True,
        lock_wait_s=5.0,
        replay=KEPT,
    )


def test_slots_are_those_that_were_named_else_as_many() -> None:
    """Who asked for every slot gets as many as there were then."""
    assert again(asked(np=None)).np == 3
    assert again(asked(np=None, strategy="spread")).strategy == "spread"
    where = again(asked(np=None, hosts="a:1,b:2"))
    assert (where.np, where.hosts) == (None, "a:1,b:2")
    other = again(asked(hosts="a:1,b:2"), np=1)
    assert (other.np, other.hosts) == (1, None)


def test_requirements_are_those_of_the_code_or_where_they_were() -> None:
    inside, outside = "/home/ada/code/more.txt", "/home/ada/more.txt"
    assert again(asked(requirements=inside)).requirements == SOURCE / "more.txt"
    assert again(asked(requirements=outside)).requirements == Path(outside)
    for path in (outside, "/home/ada/code/../more.txt"):
        with pytest.raises(UsageProblem, match="outside of its code"):
            again(replace(asked(requirements=path), host="b"))


def test_what_another_version_asked_for_is_left_out() -> None:
    assert replace(again(asked(priority="high")), replay=None) == replace(again(asked()), replay=None)


def test_a_request_says_itself_again(tmp_path: Path) -> None:
    request = TrainRequest(
        script="train.py",
        rest=("x",),
        np=2,
        tuning=("--autotune",),
        env=("A=1",),
        secrets=("S",),
        is_forced=True,
    )
    words = request_fields(tmp_path, request, tmp_path)
    assert words["script"] == "train.py" and not {"env", "secrets", "is_forced"} & set(words)
    found = again(asked(**words))
    assert found == replace(again(asked()), rest=("x",), np=2, tuning=("--autotune",), replay=found.replay)


def test_secrets_are_read_by_our_own_word_only() -> None:
    told = replace(KEPT, host="b")
    with pytest.raises(UsageProblem) as caught:
        again(told)
    assert caught.value.what.startswith("the capsule was read from b")
    assert caught.value.lines == ("it asks for: --secret TOKEN --secret KEY=@/home/ada/key",)
    words = ("KEY=@mine", "TOKEN")
    assert again(told, secrets=words).secrets == words
    assert again(secrets=("KEY=@mine",)).secrets == ("TOKEN", "KEY=@mine")


LAB = Located(inventory("hosts: [a]\nenv: {MODE: slow, API_KEY: hunter2, NEW: x}\n"), Path("/lab/inventory.yaml"))


def env_of(kept: StoredCapsule, **options: object) -> tuple[dict[str, str], tuple[str, ...]]:
    wanted = ReplayOptions(**options)
    located = with_environment(LAB, kept, wanted)
    return dict(located.inventory.env), replay_request(kept, wanted, SOURCE).env


def test_the_environment_is_that_of_then() -> None:
    """Hidden values come from the inventory or the caller, as they did."""
    kept = StoredCapsule(replace(CAPSULE, secrets=(), env={"MODE": "fast", "API_KEY": "***", "TOKEN": "***"},
                        env_from_caller=("TOKEN",)))  # fmt: skip
    assert env_of(kept) == ({"MODE": "fast", "API_KEY": "hunter2"}, ("TOKEN",))
    with pytest.raises(UsageProblem) as caught:
        env_of(replace(kept, host="b"))
    assert (caught.value.what, caught.value.fix) == (
        "values that look secret are in no capsule: TOKEN",
        "say them: --env TOKEN",
    )
    assert env_of(replace(kept, host="b"), env=("TOKEN",))[1] == ("TOKEN",)


def git(folder: Path, *words: str) -> None:
    own = ("-c", "user.name=ada", "-c", "user.email=ada@lab")
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def then(tmp_path: Path) -> StoredCapsule:
    """A job of code with changes that were not committed."""
    folder = tmp_path / "project" / "code"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text("print(0)\n")
    git(folder.parent, "init", "--quiet")
    git(folder.parent, "add", "--all")
    git(folder.parent, "commit", "--quiet", "--message", "a beginning")
    (folder / "train.py").write_text("print(1)\n")
    tree = read_tree(folder)
    seen, patch = observe_git(tree)
    return StoredCapsule(replace(CAPSULE, code=CodeUsed(tree.hash, str(folder), git=seen)), patch)


def code_of(kept: StoredCapsule, cwd: Path) -> tuple[Path, str]:
    with restored_code(Env(cwd=cwd, environ={}), kept) as source:
        return source, (source / "train.py").read_text()


def test_code_that_has_not_changed_is_taken_from_where_it_was(then: StoredCapsule, tmp_path: Path) -> None:
    assert code_of(then, tmp_path) == (Path(then.capsule.code.folder), "print(1)\n")


def test_code_that_has_changed_comes_from_git(then: StoredCapsule, tmp_path: Path) -> None:
    folder = Path(then.capsule.code.folder)
    (folder / "train.py").write_text("print(2)\n")
    source, text = code_of(then, tmp_path)
    assert text == "print(1)\n" and not source.is_relative_to(tmp_path) and not source.exists()
    assert (folder / "train.py").read_text() == "print(2)\n"


def test_on_another_machine_a_clone_will_do(then: StoredCapsule, tmp_path: Path) -> None:
    folder = Path(then.capsule.code.folder)
    git(tmp_path, "clone", "--quiet", str(folder.parent), str(tmp_path / "clone"))
    told = replace(then, host="b")
    assert code_of(told, tmp_path / "clone")[1] == "print(1)\n"


def test_by_a_hosts_word_no_other_folder_is_read(then: StoredCapsule, tmp_path: Path) -> None:
    with pytest.raises(HvdockerError, match="cannot be run again") as caught:
        code_of(replace(then, host="b"), tmp_path)
    assert f"{tmp_path}: not a git repository" in caught.value.lines[1]


@pytest.mark.parametrize(
    ("git_seen", "patch", "line"),
    [
        (GitSeen(why="there is no git here"), b"", "git does not have it: there is no git here"),
        (
            GitSeen("a" * 40, is_dirty=True, why="no patch: too large"),
            b"",
            "were not kept: no patch: too large",
        ),
        (GitSeen("a" * 40, is_dirty=True, patch_bytes=7), b"", "the patch of its changes is not here"),
        (GitSeen("a" * 40), b"", "does not have the commit aaaaaaaaaaaa"),
    ],
)
def test_code_that_is_nowhere_is_named(
    then: StoredCapsule, tmp_path: Path, git_seen: GitSeen, patch: bytes, line: str
) -> None:
    code = then.capsule.code
    (Path(code.folder) / "train.py").write_text("print(2)\n")
    lost = StoredCapsule(replace(then.capsule, code=replace(code, git=git_seen)), patch)
    with pytest.raises(HvdockerError) as caught:
        code_of(lost, tmp_path)
    assert caught.value.what == "the job cannot be run again with the same code"
    assert line in "\n".join(caught.value.lines)
    assert code.hash[:12] in caught.value.lines[0]


def test_a_commit_that_is_not_all_of_the_code_is_not_run(then: StoredCapsule, tmp_path: Path) -> None:
    other = replace(then.capsule, code=replace(then.capsule.code, hash="e" * 64))
    with pytest.raises(HvdockerError) as caught:
        code_of(replace(then, capsule=other), tmp_path)
    assert "its commit and patch are not all of it" in caught.value.lines[1]


@pytest.mark.parametrize(
    "odd",
    [
        {"np": "x"},
        {"endurance": {"hang_after": 5}},
        {"tuning": [1]},
        {"tuning": "--verbose"},
        {"start_timeout_s": "soon"},
        {"script": 3},
    ],
)
def test_a_capsule_that_says_nonsense_is_refused_in_words(odd: dict[str, object]) -> None:
    with pytest.raises(UsageProblem, match="the capsule is damaged"):
        again(asked(**odd))


def test_a_start_timeout_is_taken_from_the_capsule() -> None:
    assert [again(asked(start_timeout_s=limit)).start_timeout_s for limit in (30, None)] == [30, None]


def test_a_start_timeout_that_every_capsule_once_had_is_left_out_where_the_launcher_takes_none() -> None:
    stored = asked(start_timeout_s=120)
    request = again(replace(stored, capsule=replace(stored.capsule, launcher_name="torch")))
    check_launcher(named("torch"), request, Resilience())


def test_a_capsule_without_a_start_timeout_has_no_such_field(tmp_path: Path) -> None:
    """Earlier versions expect a number in it, and refuse a capsule with null."""
    assert "start_timeout_s" not in request_fields(tmp_path, TrainRequest(), tmp_path)
    assert request_fields(tmp_path, TrainRequest(start_timeout_s=30), tmp_path)["start_timeout_s"] == 30


def test_how_a_job_was_started_is_no_part_of_it() -> None:
    assert not again(asked(is_queued=True)).is_queued
