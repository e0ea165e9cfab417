"""What every launcher has to keep to, by parameter."""

from pathlib import Path
from typing import Any

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.launchers import DEFAULT, LAUNCHERS, NAMES, named
from hvdocker.launchers.choose import (
    BY_DEFAULT,
    BY_FLAG,
    BY_IMAGE,
    BY_INVENTORY,
    LauncherChoice,
    check_launcher_flags,
    choose_launcher,
)
from hvdocker.launchers.launcher import Launcher, LaunchRequest
from hvdocker.protocol.output import Line
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Elastic

ROOT = Path(__file__).parents[3]
JOB = LaunchRequest(Placement((Share("a", 1), Share("b", 2))), {"a": "10.0.0.1", "b": "10.0.0.2"}, 12345, 3)


def request(**more: Any) -> LaunchRequest:  # Any: fields of LaunchRequest
    return LaunchRequest(**{**vars(JOB), **more})


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=NAMES)
def test_a_launcher_is_named_documented_and_has_a_file(launcher: Launcher) -> None:
    assert named(launcher.name) is launcher
    assert (ROOT / "hvdocker" / "launchers" / f"{launcher.name}.py").is_file()
    assert f"\n| `{launcher.name}` | " in (ROOT / "docs" / "launchers.md").read_text(encoding="utf-8")
    assert launcher.preview(JOB)[1:3] == ("-np", "3")
    assert set(launcher.elastic_flags) <= set(launcher.flags)


@pytest.mark.parametrize("name", ["", "a-launcher-of-tomorrow"])
def test_a_job_that_names_no_launcher_we_know_is_of_the_default_one(name: str) -> None:
    assert named(name).name == DEFAULT == "horovod"


@pytest.mark.parametrize(
    ("name", "more", "options"),
    [
        ("torch", {}, {}),
        ("tensorflow", {}, {}),
        ("jax", {}, {}),
        ("torchrun", {}, {"flags": []}),
        ("torchrun", {"elastic": Elastic(1)}, {"flags": []}),
        (
            "torchrun",
            {"flags": ("--max-restarts", "3", "--rdzv-conf", "a=1")},
            {"flags": ["--rdzv-conf", "a=1"], "max_restarts": 3},
        ),
        ("mpi", {"flags": ("--mca", "btl", "tcp")}, {"flags": ["--mca", "btl", "tcp"]}),
        ("each", {}, {"fail_fast": False}),
        ("each", {"fails_fast": True}, {"fail_fast": True}),
    ],
)
def test_options_for_the_image(name: str, more: dict[str, Any], options: dict[str, Any]) -> None:
    assert named(name).options(request(**more)) == options


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("torch", {}, "torch -np 3 -H 10.0.0.1:1,10.0.0.2:2"),
        ("each", {"np": 9, "fails_fast": True}, "each -np 9 -H 10.0.0.1:1,10.0.0.2:2 --fail-fast"),
        ("torchrun", {"elastic": Elastic(2, 4)}, "torchrun -np 2:4 -H 10.0.0.1:1,10.0.0.2:2"),
        ("mpi", {"flags": ("--bind-to", "none")}, "mpi -np 3 -H 10.0.0.1:1,10.0.0.2:2 --bind-to none"),
    ],
)
def test_words_in_a_plan(name: str, more: dict[str, Any], words: str) -> None:
    assert " ".join(named(name).preview(request(**more))) == words


@pytest.mark.parametrize(
    ("flag", "inventory", "label", "name", "reason"),
    [
        ("each", "torch", "horovod", "each", BY_FLAG),
        (None, "torch", "horovod", "torch", BY_INVENTORY),
        (None, None, "torch", "torch", BY_IMAGE),
        (None, None, "", "horovod", BY_DEFAULT),
    ],
)
def test_who_decides(flag: str | None, inventory: str | None, label: str, name: str, reason: str) -> None:
    assert choose_launcher(flag, inventory, label) == LauncherChoice(named(name), reason)


@pytest.mark.parametrize(
    ("flag", "label", "what", "fix"),
    [
        ("torhc", "", "there is no launcher 'torhc'", "did you mean torch?"),
        (None, "warp", "the launcher of the image is warp, which this version", "update hvdocker"),
    ],
)
def test_an_unknown_launcher(flag: str | None, label: str, what: str, fix: str) -> None:
    with pytest.raises(UsageProblem, match=what) as caught:
        choose_launcher(flag, None, label)
    assert fix in (caught.value.fix or "")


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=NAMES)
def test_min_np_fail_fast_and_start_timeout_go_with_few_launchers(launcher: Launcher) -> None:
    check_flags(launcher)
    if launcher.name in ("horovod", "torchrun"):
        check_flags(launcher, is_elastic=True)
    else:
        with pytest.raises(UsageProblem, match=f"this job's is {launcher.name}") as caught:
            check_flags(launcher, is_elastic=True)
        assert caught.value.fix == "take --launcher horovod or --launcher torchrun"
    if launcher.name == "each":
        check_flags(launcher, fails_fast=True)
    else:
        with pytest.raises(UsageProblem, match="--fail-fast goes with --launcher each"):
            check_flags(launcher, fails_fast=True)
    if launcher.name == "horovod":
        check_flags(launcher, has_start_timeout=True)
    else:
        with pytest.raises(
            UsageProblem, match=f"--start-timeout goes with --launcher horovod, and this job's is {launcher.name}"
        ):
            check_flags(launcher, has_start_timeout=True)


def check_flags(
    launcher: Launcher, is_elastic: bool = False, fails_fast: bool = False, has_start_timeout: bool = False
) -> None:
    check_launcher_flags(launcher, (), is_elastic, fails_fast, has_start_timeout)


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=NAMES)
@pytest.mark.parametrize("words", [("--autotune",), ("--max-restarts", "1"), ("--mca", "a", "b")])
def test_flags_of_another_launcher_are_refused(launcher: Launcher, words: tuple[str, ...]) -> None:
    if words[0] in launcher.flags:
        launcher.check_flags(words, is_elastic=False)
        return
    with pytest.raises(UsageProblem, match=f"the launcher {launcher.name} has no flag {words[0]}"):
        launcher.check_flags(words, is_elastic=False)


@pytest.mark.parametrize(
    ("name", "flag", "value", "least"),
    [
        ("horovod", "--elastic-timeout", "0", 1),
        ("horovod", "--reset-limit", "x", 1),
        ("torchrun", "--max-restarts", "-1", 0),
    ],
)
def test_wrong_values(name: str, flag: str, value: str, least: int) -> None:
    with pytest.raises(UsageProblem, match=f"{flag} should be a whole number, at least {least}"):
        named(name).check_flags((flag, value), is_elastic=True)


@pytest.mark.parametrize("flag", ["--elastic-timeout", "--reset-limit"])
def test_elastic_flags_go_with_min_np(flag: str) -> None:
    named("horovod").check_flags(("--autotune", flag, "30"), is_elastic=True)
    with pytest.raises(UsageProblem, match=f"{flag} goes with --min-np"):
        named("horovod").check_flags(("--autotune", flag, "30"), is_elastic=False)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "horovod"])
def test_others_have_no_noise_to_remove(name: str) -> None:
    lines = [Line(""), Line("Process name: 1"), Line("hello", 0, "a")]
    assert list(named(name).filter(lines)) == lines
