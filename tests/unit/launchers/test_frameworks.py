"""Which frameworks an image has, and what follows for the launcher and the script."""

import pytest

from hvdocker.launchers import LAUNCHERS, NAMES, named
from hvdocker.launchers.frameworks import (
    SEARCHED,
    launcher_problem,
    provided_frameworks,
    read_frameworks_label,
    script_problem,
)
from hvdocker.launchers.launcher import Launcher


def test_the_label() -> None:
    assert read_frameworks_label("torch=2.13.0, numpy=2.1.0") == {"torch": "2.13.0", "numpy": "2.1.0"}
    assert read_frameworks_label("") == {}
    assert read_frameworks_label(None) is None


@pytest.mark.parametrize(
    ("lines", "more"),
    [
        ((), set()),
        (("jax[cpu]>=0.4",), {"jax"}),
        (("TensorFlow_CPU==2.18",), {"tensorflow-cpu", "tensorflow"}),
        (("lightning", "--index-url https://x"), {"lightning", "torch"}),
        (("torch @ https://x/torch.whl",), {"torch"}),
    ],
)
def test_requirements_count_too(lines: tuple[str, ...], more: set[str]) -> None:
    assert provided_frameworks({"numpy": "2"}, lines) == {"numpy", *more}


def test_what_is_not_known_is_not_judged() -> None:
    assert provided_frameworks(None, ("torch",)) is None
    assert provided_frameworks({}, ("https://x/a.whl",)) is None
    assert launcher_problem(named("torch"), "mine:1", None, False) is None
    assert script_problem({"torch": "train.py"}, "mine:1", None, False) is None


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=NAMES)
def test_a_launcher_needs_its_frameworks(launcher: Launcher) -> None:
    assert launcher_problem(launcher, "mine:1", frozenset(launcher.frameworks), False) is None
    problem = launcher_problem(launcher, "mine:1", frozenset({"numpy"}), False)
    if not launcher.frameworks:
        assert problem is None
        return
    assert problem and f"the launcher {launcher.name} needs {launcher.frameworks[0]}" in problem.what
    way = f"hvdocker up --image {launcher.image}-cpu" if launcher.image else "into requirements.txt"
    assert way in (problem.fix or "")


def test_a_script_of_another_framework() -> None:
    problem = script_problem({"torch": "train.py", "jax": "a/b.py"}, "doc-hvd:cpu", frozenset({"tensorflow"}), True)
    assert problem
    assert problem.what == "train.py imports torch, which the image doc-hvd:cpu does not have"
    assert problem.lines == ("image and requirements have tensorflow", "a/b.py imports jax")
    assert problem.fix == "hvdocker up --image torch; --force goes on"
    assert script_problem({"torch": "train.py"}, "x", frozenset({"torch"}), True) is None


def test_an_image_that_inherited_the_label_of_ours_can_be_labelled() -> None:
    """It was built FROM doc-hvd:base, and its own Dockerfile added the framework."""
    problem = script_problem({"torch": "train.py"}, "mine:1", frozenset(), False)
    assert problem and "hvdocker image build --from mine:1" in (problem.fix or "")


def test_scripts_are_searched_for_all_frameworks() -> None:
    assert {"torch", "tensorflow", "jax", "horovod"} <= {*SEARCHED}
