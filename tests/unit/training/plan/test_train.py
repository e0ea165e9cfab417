import json
from dataclasses import replace

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.steps import MakeFolders, StartContainer
from hvdocker.errors import ExitCode, HostErrors, HvdockerError
from hvdocker.jobs.capsule.capsule import CapsuleFiles
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.placement.offers import offers_to_job
from hvdocker.placement.slots import HeldSlots, Offer, Slot
from hvdocker.plan.plan import Plan, Stage
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.sync.steps import SyncCode
from hvdocker.training.plan.master_container import master_spec
from hvdocker.training.plan.train import check_workers, plan_train, usable_host_plans
from hvdocker.training.steps import CreateMaster, WriteJobFile, WritePatch
from tests.unit.builders import CAPSULE, MAKER, host_seen, host_with_worker, inventory, master, state_of

LAB = inventory("hosts: [a, {host: b, slots: 4}, c]\nport: 12345\n")
STATE = state_of(*(host_with_worker(LAB, name) for name in "abc"))
HOST_PLANS = plan_hosts(LAB, STATE)
JOB = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("a", 1), Share("b", 3))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=("python", "/train/train.py"),
    launcher=JobLauncher("horovod"),
    launcher_preview=("horovodrun", "-np", "4"),
    workdir="/train",
)
JOB_A, JOB_B = (f"/home/{name}/.hvdocker/lab/{name}/jobs/train-abcd" for name in "ab")


def test_the_whole_plan() -> None:
    spec = master_spec(LAB, HOST_PLANS["a"], MAKER, JOB)
    assert plan_train(LAB, HOST_PLANS, MAKER, JOB, "/home/me/project") == Plan("train", "lab", (
        Stage("code", (
            SyncCode("a", "/home/me/project", "/home/a/.hvdocker/lab/a/code"),
            SyncCode("b", "/home/me/project", "/home/b/.hvdocker/lab/b/code"),
        )),
        Stage("files", (
            MakeFolders("a", JOB_A, (JOB_A, f"{JOB_A}/out", f"{JOB_A}/logs")),
            MakeFolders("b", JOB_B, (JOB_B, f"{JOB_B}/out", f"{JOB_B}/logs")),
        ), follows_on=True),
        Stage("files", (
            WriteJobFile("a", JOB_A, JOB.for_host("a")),
            WriteJobFile("b", JOB_B, JOB.for_host("b")),
        ), follows_on=True),
        Stage("master", (
            CreateMaster("a", spec, "hvdocker-lab-worker", JOB.launcher_preview, JOB.command),
        ), follows_on=True),
        Stage("master", (StartContainer("a", "hvdocker-lab-train-abcd"),)),
    ))  # fmt: skip


def test_the_plan_says_which_launcher_and_why_unless_it_is_the_default() -> None:
    chosen = replace(JOB, launcher=JobLauncher("torch", reason="the image's label"))
    for job, text in (
        (JOB, ""),
        (replace(JOB, launcher=replace(JOB.launcher, reason="default")), ""),
        (chosen, ", launcher torch (the image's label)"),
    ):
        (step,) = [
            step for step in plan_train(LAB, HOST_PLANS, MAKER, job, None).steps if isinstance(step, CreateMaster)
        ]
        assert step.describe().startswith(f"create hvdocker-lab-train-abcd from doc-hvd:cpu{text}: horovodrun -np 4")


def test_the_masters_labels_name_launcher_ports_and_a_pools_ranks() -> None:
    def labels(job: JobSpec) -> dict[str, str]:
        found = master_spec(LAB, HOST_PLANS["a"], MAKER, job).labels
        return {
            name: found[f"hvdocker.{name}"]
            for name in ("launcher", "masterport", "ranks")
            if f"hvdocker.{name}" in found
        }

    assert labels(JOB) == {"launcher": "horovod", "masterport": "29500:4"}
    pool = replace(JOB, launcher=JobLauncher("each"), np=40, master_port=29510)
    assert labels(pool) == {"launcher": "each", "masterport": "29510:4", "ranks": "40"}
    assert json.loads(pool.for_host("b"))["np"] == 40


def test_every_host_has_the_capsule_before_the_master() -> None:
    capsule = replace(CAPSULE, env={"SEED": "7", "API_KEY": "***"}, env_from_caller=("SEED", "API_KEY"))
    plan = plan_train(LAB, HOST_PLANS, MAKER, JOB, None, capsule=CapsuleFiles(capsule, b"patch"))
    text = capsule.text()
    assert [stage.name for stage in plan.stages] == ["files", "files", "files", "master", "master"]
    assert plan.stages[2] == Stage("files", (
        WriteJobFile("a", JOB_A, text, from_caller=("SEED",), name="capsule.json"),
        WritePatch("a", JOB_A, b"patch"),
        WriteJobFile("b", JOB_B, text, from_caller=("SEED",), name="capsule.json"),
        WritePatch("b", JOB_B, b"patch"),
    ), follows_on=True)  # fmt: skip


def test_the_master_is_of_its_workers_image() -> None:
    plan = plan_train(LAB, HOST_PLANS, MAKER, JOB, None, "hvdocker-req:abc")
    (made,) = [step for step in plan.steps if isinstance(step, CreateMaster)]
    assert made.spec.image == "hvdocker-req:abc"


def test_without_a_folder_nothing_is_synced() -> None:
    plan = plan_train(LAB, HOST_PLANS, MAKER, JOB, None)
    assert [stage.name for stage in plan.stages] == ["files", "files", "master", "master"]


def test_another_users_containers_get_open_folders_and_readable_files() -> None:
    other = inventory("hosts: [a, b, c]\nuser: 2000:2000\n")
    plan = plan_train(other, plan_hosts(other, STATE), MAKER, JOB, "/home/me/project")
    shared = [step.is_shared for step in plan.steps if isinstance(step, (SyncCode, MakeFolders, WriteJobFile))]
    assert shared == [True] * 6


def test_contents_are_compared_on_request() -> None:
    plan = plan_train(LAB, HOST_PLANS, MAKER, JOB, "/home/me/project", checksum=True)
    assert [step.checks_contents for step in plan.steps if isinstance(step, SyncCode)] == [True, True]


def test_every_host_reads_its_own_name() -> None:
    plan = plan_train(LAB, HOST_PLANS, MAKER, JOB, None)
    files = {step.host: json.loads(step.content)["host"] for step in plan.steps if isinstance(step, WriteJobFile)}
    assert files == {"a": "a", "b": "b"}


def test_slots_that_running_jobs_hold_are_leases() -> None:
    jobs = (
        master("train-aaaa", '{"a":1,"b":2}'),
        master("eval-bbbb", '{"b":1,"gone":5}'),
        master("old-cccc", '{"b":4}', state="exited"),
    )
    state = state_of(host_seen("a", containers=jobs), host_seen("b"), host_seen("c"))
    assert offers_to_job(LAB, state, plan_hosts(LAB, state)) == [
        Offer("a", (), (HeldSlots("train-aaaa of ?", 1),)),
        Offer("b", (Slot(),), (HeldSlots("train-aaaa of ?", 2), HeldSlots("eval-bbbb of ?", 1))),
        Offer("c", (Slot(),)),
    ]


def test_running_workers_will_do() -> None:
    check_workers(LAB, HOST_PLANS, STATE)


def test_no_worker_at_all_means_that_the_cluster_is_not_up() -> None:
    state = state_of(*(host_seen(name) for name in "abc"))
    with pytest.raises(HvdockerError) as caught:
        check_workers(LAB, plan_hosts(LAB, state), state)
    assert caught.value.what == "the cluster lab is not up: no worker was found on a, b, c"
    assert (caught.value.fix, caught.value.exit_code) == ("hvdocker up", ExitCode.ERROR)


def test_every_worker_that_does_not_run_is_named() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_seen("b"), host_with_worker(LAB, "c", state="exited"))
    with pytest.raises(HostErrors) as caught:
        check_workers(LAB, plan_hosts(LAB, state), state)
    assert [str(error) for error in caught.value.errors] == [
        "b: its worker is not there",
        "c: its worker is exited",
    ]
    assert caught.value.exit_code == ExitCode.UNFIT


def test_a_host_that_got_another_address_is_named_and_up_is_the_fix() -> None:
    moved = replace(host_with_worker(LAB, "b"), addresses=("10.0.0.77",), reached_at="10.0.0.77")
    state = state_of(host_with_worker(LAB, "a"), moved, host_with_worker(LAB, "c"))
    with pytest.raises(HvdockerError) as caught:
        check_workers(LAB, plan_hosts(LAB, state), state)
    assert str(caught.value) == "b: its worker listens on 10.0.0.12, and the host no longer has this address"
    assert caught.value.fix == "hvdocker up"


def test_some_workers_may_be_missing() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_seen("b"), host_with_worker(LAB, "c", state="exited"))
    check_workers(LAB, plan_hosts(LAB, state), state, may_miss=True)


def test_what_still_stands_for_a_job_that_lost_its_head() -> None:
    old = master("train-abcd", '{"b":1}', state="exited", host="b")
    other = master("eval-abcd", '{"c":1}', state="exited", host="c")
    state = state_of(
        host_with_worker(LAB, "a", state="exited"),
        host_with_worker(LAB, "b", containers=(old,)),
        host_with_worker(LAB, "c", containers=(other,)),
    )
    assert list(usable_host_plans(plan_hosts(LAB, state), state, "train-abcd")) == ["c"]
