from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import hvdocker
from hvdocker.cluster import steps
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.cluster.steps import StartContainer, Trust
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.images.requirements import Requirements
from hvdocker.images.steps import BuildImage, BuildLayer, RemoveImage, ShipImage
from hvdocker.jobs.steps import FetchJobs, StopJob
from hvdocker.plan.actions import actions_module
from hvdocker.plan.plan import CONTROLLER, Stage, Step, plan_of, steps_by_host
from hvdocker.protocol.job_file import JobHost
from hvdocker.script.script import _RENDER
from hvdocker.sync.steps import SyncCode
from hvdocker.training.steps import CreateMaster, WriteJobFile, WritePatch

SPEC = ContainerSpec("hvdocker-lab-worker", "doc-hvd:cpu", ("worker",), 1000, 1000)
TRUST = Trust("lab", 1, (ClusterMember("a", "10.0.0.11", "hvd"),), new_host_keys=("a", "b"))


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (BuildImage(CONTROLLER, "x:y"), "build x:y (it is nowhere yet; this takes minutes)"),
        (
            BuildLayer("a", "hvdocker-req:k", "sha256:1", "c", "k", Requirements("/r.txt", ("six",))),
            "install /r.txt as one layer: hvdocker-req:k",
        ),
        (ShipImage("a", "x:y", "b"), "load x:y from b"),
        (ShipImage("a", "x:y", "b", 3 << 30), "load x:y from b, 3.0 GB"),
        (steps.MakeKeys(CONTROLLER, TRUST), "make a client key, make host keys for a, b"),
        (
            steps.MakeKeys(CONTROLLER, Trust("lab", 1, (), client_key_host="c", new_host_keys=("a",))),
            "take the client key from c, make host keys for a",
        ),
        (
            steps.MakeKeys(CONTROLLER, Trust("lab", 1, (), user_key_files=("k", "k.pub"), new_host_keys=("a",))),
            "use the client key you brought, make host keys for a",
        ),
        (steps.MakeFolders("a", "/h/.hvdocker/lab", ()), "make /h/.hvdocker/lab"),
        (
            steps.MakeNetwork(CONTROLLER, "n", "198.18.200.0/24", "lab"),
            "make the network n (198.18.200.0/24)",
        ),
        (steps.RemoveContainer("a", "c", "id", "running"), "remove c (running)"),
        (steps.RemoveContainer("a", "c", "id"), "remove c"),
        (
            steps.CreateWorker("a", SPEC, "10.0.0.11", 1),
            "create hvdocker-lab-worker from doc-hvd:cpu, sshd on 10.0.0.11:1",
        ),
        (steps.RefreshTrust("a", "c", 1, 1), "tell c who is in the cluster"),
        (steps.WriteMembers("a", "/h/.hvdocker/lab", "a=10.0.0.11"), "write /h/.hvdocker/lab/members"),
        (
            steps.MakeKeys(CONTROLLER, Trust("lab", 1, (), client_key_host="c")),
            "take the client key from c",
        ),
        (
            steps.JoinJob("c", "j-1", "a", "/a", "/c", JobHost("c", "10.0.0.13", 2), "m", "w", 1, 1),
            "join j-1 with 2 slots: code and files from a",
        ),
        (steps.UpdateMaster("a", "m", 1, 1), "tell m about the workers"),
        (
            steps.UpdateMaster("a", "m", 1, 1, (JobHost("a", "10.0.0.11", 1), JobHost("c", "10.0.0.13", 2))),
            "tell m about the workers, and that it has a, c",
        ),
        (steps.StartContainer("a", "c"), "start c"),
        (steps.AwaitSshd("a", "c", "10.0.0.11", 1), "wait for sshd on 10.0.0.11:1"),
        (steps.CheckMesh("a", "c", ("a", "b")), "log in from a to a, b"),
        (SyncCode("a", "/me", "/there"), "sync /me to /there"),
        (
            SyncCode("a", "/me", "/there", checks_contents=True),
            "sync /me to /there, comparing contents",
        ),
        (WriteJobFile("a", "/there", "{}"), "write /there/job.json"),
        (WriteJobFile("a", "/there", "{}", name="capsule.json"), "write /there/capsule.json"),
        (WritePatch("a", "/there", b"x" * 2048), "write /there/code.patch, 2.0 KB"),
        (
            CreateMaster("a", SPEC, "w", ("horovodrun", "-np", "2"), ("python", "two words")),
            "create hvdocker-lab-worker from doc-hvd:cpu: horovodrun -np 2 python 'two words'",
        ),
        (StopJob("a", "train-abcd", "id"), "stop train-abcd, which is running"),
        (FetchJobs(CONTROLLER, ("x", "y")), "bring home outputs and logs of x, y"),
        (
            FetchJobs(CONTROLLER, ("x",), has_other_files=True),
            "bring home outputs and logs of x and files of no job in the code folder",
        ),
        (FetchJobs(CONTROLLER, (), has_other_files=True), "bring home files of no job in the code folder"),
        (steps.RemoveTree("a", "/there"), "remove /there"),
        (steps.RemoveNetwork(CONTROLLER, "n"), "remove the network n"),
        (RemoveImage("a", "i:1", "unused", 2 << 30), "remove the image i:1 (2.0 GB, unused)"),
        (RemoveImage("a", "i:1", "unused"), "remove the image i:1 (unused)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Step) else "",
)
def test_a_step_says_what_it_does(step: Step, text: str) -> None:
    assert step.describe() == text


def test_a_plan_prints_itself() -> None:
    plan = plan_of("up", "lab", ("image", []), ("containers", [StartContainer("a", "c")]))
    assert plan.lines() == ["containers a              start c"]
    assert plan.stages == (Stage("containers", (StartContainer("a", "c"),)),)


def test_the_steps_of_one_host_stay_in_order() -> None:
    first, second, other = StartContainer("a", "1"), StartContainer("a", "2"), StartContainer("b", "3")
    wave = [Stage("x", (first, other)), Stage("y", (second,), follows_on=True)]
    assert steps_by_host(wave) == {"a": [("x", first), ("y", second)], "b": [("x", other)]}


def test_a_wave_ends_where_all_hosts_wait_for_each_other() -> None:
    stages = [
        Stage(name, (StartContainer("a", name),), follows_on)
        for name, follows_on in (("1", True), ("2", True), ("3", False), ("4", True))
    ]
    waves = plan_of("up", "lab", *stages).waves()
    assert [[stage.name for stage in wave] for wave in waves] == [["1", "2"], ["3", "4"]]


def test_every_kind_of_step_can_be_done_and_written_as_a_script() -> None:
    kinds = set(kinds_of_steps())
    assert {kind for kind in kinds if kind not in actions_module(kind).ACTIONS} == set()
    assert set(_RENDER) == kinds


def kinds_of_steps() -> Iterator[type[Step]]:
    """Every package that has steps has them in a module of that name."""
    root = Path(hvdocker.__file__).parents[1]
    for file in sorted((root / "hvdocker").rglob("steps.py")):
        module = import_module(".".join(file.relative_to(root).with_suffix("").parts))
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Step) and kind.__module__ == module.__name__:
                yield kind
