from dataclasses import replace

import pytest

from hvdocker.cluster.containers.roles import doctor_spec, user_ids, worker_spec
from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.inventory.inventory import Host
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.observe.gpu import GpuSeen
from hvdocker.observe.state import EngineSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.training.plan.master_container import master_spec
from tests.unit.builders import GIB, MAKER, host_seen, inventory, state_of

LAB = inventory("hosts: [a, {host: b, slots: 4}]\nmounts: ['/data:/data:ro']\nport: 12345\n")
GPUS = (GpuSeen(0, "GPU-0", "T4"), GpuSeen(1, "GPU-1", "T4"))


def place_of(name: str = "a", wanted=LAB, **changes: object) -> HostPlan:
    return plan_hosts(wanted, state_of(host_seen(name, **changes)))[name]


PLACED = Placement((Share("a", 1, ("GPU-1",)), Share("b", 2)))
JOB = JobSpec("train-abcd", "lab", PLACED, {}, 12345, (), JobLauncher("horovod"), "/train")


def test_a_worker_as_a_whole() -> None:
    assert worker_spec(LAB, place_of(), MAKER) == ContainerSpec(
        name="hvdocker-lab-worker",
        image="doc-hvd:cpu",
        command=("worker",),
        uid=1000,
        gid=1001,
        network="host",
        hostname="hvd-a",
        hostname_address="10.0.0.11",
        binds=(
            "/home/a/.hvdocker/lab/a/code:/train",
            "/home/a/.hvdocker/lab/a/jobs:/run/hvdocker/jobs",
            "/data:/data:ro",
        ),
        labels={
            "hvdocker.cluster": "lab",
            "hvdocker.host": "a",
            "hvdocker.role": "worker",
            "hvdocker.owner": "ada",
            "hvdocker.version": "0.1.0",
            "hvdocker.address": "10.0.0.11",
            "hvdocker.port": "12345",
            "hvdocker.slots": "1",
        },
        shm_bytes=4 * GIB,
        restart="unless-stopped",
    )


def test_a_doctors_container_holds_nothing_and_ends_by_itself() -> None:
    made = doctor_spec(LAB, place_of(gpus=GPUS), MAKER, has_sshd=True, seconds=120)
    assert made == ContainerSpec(
        name="hvdocker-lab-doctor",
        image="doc-hvd:cpu",
        command=("timeout", "120", "/opt/hvdocker/bin/entrypoint", "worker"),
        uid=1000,
        gid=1001,
        network="host",
        labels={
            "hvdocker.cluster": "lab",
            "hvdocker.host": "a",
            "hvdocker.role": "doctor",
            "hvdocker.owner": "ada",
            "hvdocker.version": "0.1.0",
        },
        stop_timeout_s=1,
    )
    silent = doctor_spec(LAB, place_of(), MAKER, has_sshd=False, seconds=120)
    assert silent.command == ("timeout", "120", "sleep", "120")


def test_a_master_as_a_whole() -> None:
    assert master_spec(LAB, place_of(gpus=GPUS), MAKER, JOB) == ContainerSpec(
        name="hvdocker-lab-train-abcd",
        image="doc-hvd:cpu",
        command=("master", "train-abcd"),
        uid=1000,
        gid=1001,
        network="host",
        hostname="hvd-a",
        hostname_address="10.0.0.11",
        binds=(
            "/home/a/.hvdocker/lab/a/code:/train",
            "/home/a/.hvdocker/lab/a/jobs:/run/hvdocker/jobs",
            "/data:/data:ro",
        ),
        labels={
            "hvdocker.cluster": "lab",
            "hvdocker.host": "a",
            "hvdocker.role": "master",
            "hvdocker.owner": "ada",
            "hvdocker.version": "0.1.0",
            "hvdocker.gpus": "GPU-1",
            "hvdocker.job": "train-abcd",
            "hvdocker.placement": '{"a":["GPU-1"],"b":2}',
            "hvdocker.launcher": "horovod",
            "hvdocker.masterport": "29500:3",
        },
        devices=("GPU-1",),
        shm_bytes=4 * GIB,
        restart="no",
        stop_timeout_s=45,
    )


def test_on_a_local_bridge_the_worker_has_an_address_and_the_master_lives_with_it() -> None:
    local = inventory("local: 2\ncluster: lab\n")
    place = plan_hosts(local, state_of(host_seen("w1"), host_seen("w2")))["w2"]
    worker, master = worker_spec(local, place, MAKER), master_spec(local, place, MAKER, JOB)
    assert (worker.name, worker.network, worker.address) == (
        "hvdocker-lab-worker-w2", "hvdocker-lab", "198.18.200.12",
    )  # fmt: skip
    assert (master.network, master.address) == ("container:hvdocker-lab-worker-w2", None)
    assert worker.binds == (
        "/home/w2/.hvdocker/lab/w2/code:/train", "/home/w2/.hvdocker/lab/w2/jobs:/run/hvdocker/jobs",
    )  # fmt: skip
    # They share one machine's memory.
    assert worker.shm_bytes == 2 * GIB


@pytest.mark.parametrize(
    ("memory", "shm"),
    [(8 * GIB, 4 * GIB), (64 * GIB, 16 * GIB), (8 * GIB + 12345678, 4 * GIB), (GIB // 32, 64 << 20)],
)
def test_shared_memory_is_half_of_the_hosts_at_most_16_gb_and_steady(memory: int, shm: int) -> None:
    engine = EngineSeen("27", "x86_64", memory)
    assert worker_spec(LAB, place_of(engine=engine), MAKER).shm_bytes == shm


def test_limits_come_from_the_inventory() -> None:
    limited = replace(LAB, shm_bytes=GIB, memory_bytes=2 * GIB, cpus=1.5)
    spec = worker_spec(limited, place_of(), MAKER)
    assert (spec.shm_bytes, spec.memory_bytes, spec.cpus) == (GIB, 2 * GIB, 1.5)


@pytest.mark.parametrize(
    ("user", "ids", "opens"),
    [("host", (1000, 1001), False), ("root", (0, 0), False), ("2000:2001", (2000, 2001), True)],
)
def test_whose_container_it_is(user: str, ids: tuple[int, int], opens: bool) -> None:
    wanted = replace(LAB, user=user)
    assert user_ids(wanted, host_seen("a")) == ids
    assert place_of(wanted=wanted).needs_open_folders is opens


def test_a_worker_holds_its_devices_and_no_others() -> None:
    made = worker_spec(LAB, replace(place_of(gpus=GPUS), devices=("GPU-1",), request_label='{"np":1}'), MAKER)
    assert (made.devices, made.labels["hvdocker.gpus"]) == (("GPU-1",), "GPU-1")
    assert made.labels["hvdocker.asked"] == '{"np":1}'
    assert worker_spec(LAB, place_of(gpus=GPUS), MAKER).devices == ("GPU-0", "GPU-1")
    assert "hvdocker.gpus" not in worker_spec(LAB, place_of(), MAKER).labels


@pytest.mark.parametrize(("slots", "gpus", "count"), [(None, (), 1), (None, GPUS, 2), (1, GPUS, 1), (3, (), 3)])
def test_slots_are_gpus_else_one_or_what_the_inventory_says(slots: int | None, gpus, count: int) -> None:
    wanted = replace(LAB, hosts=(Host("a", "a", slots=slots),))
    assert place_of(wanted=wanted, gpus=gpus).slots == count
