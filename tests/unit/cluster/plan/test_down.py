from hvdocker.cluster.plan.down import plan_down
from hvdocker.cluster.steps import RemoveContainer, RemoveNetwork, RemoveTree
from hvdocker.jobs.steps import FetchJobs, StopJob
from hvdocker.observe.state import ContainerSeen, NetworkSeen
from hvdocker.plan.plan import CONTROLLER, Plan, Stage
from tests.unit.builders import host_seen, host_with_worker, inventory, master, state_of, worker_as_created

LAB = inventory("hosts: [a, b]")


def test_jobs_end_then_outputs_then_masters_then_workers_then_files() -> None:
    jobs = (master("train-abcd", "{}"), master("old-aaaa", "{}", state="exited"))
    worker = worker_as_created(LAB, "a", host_seen("a"))
    state = state_of(
        host_seen("a", containers=(worker, *jobs), cluster_dir="/home/a/.hvdocker/lab/a"),
        host_with_worker(LAB, "b"),
    )
    assert plan_down(LAB, state, ("train-abcd",)) == Plan("down", "lab", (
        Stage("jobs", (StopJob("a", "train-abcd", "id-train-abcd"),)),
        Stage("fetch", (FetchJobs(CONTROLLER, ("train-abcd",)),)),
        Stage("containers", (
            RemoveContainer("a", "hvdocker-lab-train-abcd", "id-train-abcd"),
            RemoveContainer("a", "hvdocker-lab-old-aaaa", "id-old-aaaa"),
        )),
        Stage("containers", (
            RemoveContainer("a", "hvdocker-lab-worker", "id-a"),
            RemoveContainer("b", "hvdocker-lab-worker", "id-b"),
        )),
        Stage("files", (
            RemoveTree("a", "/home/a/.hvdocker/lab/a"),
            RemoveTree("b", "/home/b/.hvdocker/lab/b"),
        )),
    ))  # fmt: skip


def test_where_nothing_is_nothing_is_done() -> None:
    assert plan_down(LAB, state_of(host_seen("a"), host_seen("b")), ()) == Plan("down", "lab", ())


def test_a_host_that_has_only_files_left_loses_them() -> None:
    state = state_of(host_seen("a", cluster_dir="/home/a/.hvdocker/lab/a"), host_seen("b"))
    assert plan_down(LAB, state, ()) == Plan("down", "lab", (
        Stage("files", (RemoveTree("a", "/home/a/.hvdocker/lab/a"),)),
    ))  # fmt: skip


def test_a_local_cluster_shares_an_engine_and_has_a_network() -> None:
    local = inventory("local: 2\ncluster: lab\n")
    seen = (host_seen("w1"), host_seen("w2"))
    shared = (
        *(worker_as_created(local, host.name, host) for host in seen),
        master("train-abcd", "{}", "exited", "w1"),
    )
    state = state_of(
        host_seen("w1", containers=shared, home="/home/me", cluster_dir="/home/me/.hvdocker/lab/w1"),
        host_seen("w2", containers=shared, home="/home/me", cluster_dir="/home/me/.hvdocker/lab/w2"),
        network=NetworkSeen("198.18.200.0/24", ("198.18.200.0/24",)),
    )
    assert plan_down(local, state, ()) == Plan("down", "lab", (
        Stage("containers", (RemoveContainer("w1", "hvdocker-lab-train-abcd", "id-train-abcd"),)),
        Stage("containers", (
            RemoveContainer("w1", "hvdocker-lab-worker-w1", "id-w1"),
            RemoveContainer("w2", "hvdocker-lab-worker-w2", "id-w2"),
        )),
        Stage("files", (
            RemoveTree("w1", "/home/me/.hvdocker/lab/w1"),
            RemoveTree("w2", "/home/me/.hvdocker/lab/w2"),
        )),
        Stage("network", (RemoveNetwork(CONTROLLER, "hvdocker-lab"),)),
    ))  # fmt: skip


def test_what_a_doctor_left_behind_goes_too() -> None:
    labels = {"hvdocker.cluster": "lab", "hvdocker.host": "a", "hvdocker.role": "doctor"}
    left = ContainerSeen("id-doctor", "hvdocker-lab-doctor", "created", "sha256:aaaa", labels)
    state = state_of(host_seen("a", containers=(left,)))
    assert plan_down(LAB, state, ()) == Plan("down", "lab", (
        Stage("containers", (RemoveContainer("a", "hvdocker-lab-doctor", "id-doctor"),)),
    ))  # fmt: skip
    assert (state.workers(), state.masters()) == ({}, [])
