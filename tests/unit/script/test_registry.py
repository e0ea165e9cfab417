"""Pushing and pulling by hand: the registry's name is only borrowed."""

from pathlib import Path

import pytest

from hvdocker.images.steps import PullImage, PushImage
from hvdocker.plan.plan import CONTROLLER, Plan, Stage, Step
from tests.unit.builders import inventory
from tests.unit.script.script_run import ScriptOptions, ScriptRun

LAB = inventory("hosts: [a]\nregistry: reg:5000")
REMOTE = "reg:5000/x:y"
ASK = ["docker", "image", "inspect", "--format", "{{.Id}}", REMOTE]


def ran(step: Step, folder: Path, **way: object) -> list[list[str]]:
    done = ScriptRun(Plan("up", "lab", (Stage("image", (step,)),)), LAB, folder, ScriptOptions(**way))  # type: ignore[arg-type]
    return done.calls_on("here" if step.host == CONTROLLER else step.host)


def docker_that_finds(folder: Path) -> Path:
    """Every image is there already, as sha256:mine."""
    programs = folder / "programs"
    programs.mkdir()
    path = programs / "docker"
    real = Path(__file__).parents[1] / "fixtures" / "script_bin" / "docker"
    path.write_text(f'#!/bin/sh\n[ "$1" != image ] || echo sha256:mine\nexec {real} "$@"\n')
    path.chmod(0o755)
    return programs


PUSH = (PushImage(CONTROLLER, "x:y", "reg:5000"), [["tag", "x:y", REMOTE], ["push", "--quiet", REMOTE]])
PULL = (PullImage("a", "x:y", "reg:5000"), [["pull", "--quiet", REMOTE], ["tag", REMOTE, "x:y"]])


@pytest.mark.parametrize(("step", "words"), [PUSH, PULL], ids=["push", "pull"])
def test_the_registrys_name_is_taken_away_again(tmp_path: Path, step: Step, words: list[list[str]]) -> None:
    calls = [["docker", *line] for line in words]
    assert ran(step, tmp_path) == [ASK, *calls, ["docker", "rmi", REMOTE]]


@pytest.mark.parametrize(("step", "words"), [PUSH, PULL], ids=["push", "pull"])
def test_a_persons_own_name_is_put_back(tmp_path: Path, step: Step, words: list[list[str]]) -> None:
    calls = [["docker", *line] for line in words]
    found = ran(step, tmp_path, programs=docker_that_finds(tmp_path))
    assert found == [ASK, *calls, ["docker", "tag", "sha256:mine", REMOTE]]


def test_an_image_that_is_named_after_the_registry_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "pull").mkdir()
    (tmp_path / "push").mkdir()
    pull, push = PullImage("a", REMOTE, "reg:5000"), PushImage(CONTROLLER, REMOTE, "reg:5000")
    assert ran(pull, tmp_path / "pull") == [["docker", "pull", "--quiet", REMOTE]]
    assert ran(push, tmp_path / "push") == [["docker", "push", "--quiet", REMOTE]]


def test_through_sudo_every_docker_is(tmp_path: Path) -> None:
    sudo = tmp_path / "sudo-bin"
    sudo.mkdir()
    (sudo / "sudo").write_text('#!/bin/sh\nshift; ON="root-on-$ON"; export ON; exec "$@"\n')
    (sudo / "sudo").chmod(0o755)
    plan = Plan("up", "lab", (Stage("image", (PULL[0],)),))
    done = ScriptRun(plan, LAB, tmp_path, ScriptOptions(programs=sudo, sudo=frozenset({"a"})))
    assert len(done.calls_on("root-on-a")) == 4 and done.calls_on("a") == []
