"""Who holds a GPU: labels of living containers, of whatever cluster, and processes of others."""

from typing import Any

import pytest

from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.state import ContainerSeen, HostSeen
from hvdocker.placement.leases import GpuUse, Lease, gpu_uses, job_leases
from tests.unit.builders import host_seen

MEBI = 1 << 20
GPUS = tuple(GpuSeen(index, f"GPU-{index}", "T4") for index in range(3))


def container(id: str, role: str, cluster: str = "lab", state: str = "running", **labels: str) -> ContainerSeen:
    known = {"cluster": cluster, "role": role, "owner": "kim", **labels}
    named = {f"hvdocker.{name}": value for name, value in known.items()}
    return ContainerSeen(id, id, state, "sha256:i", named)


def worker(id: str = "w", gpus: str = "GPU-0,GPU-1", **more: str) -> ContainerSeen:
    return container(id, "worker", gpus=gpus, **more)


def master(placement: str, id: str = "m", **more: str) -> ContainerSeen:
    return container(id, "master", job="mnist-4kq2", placement=placement, **more)


def uses(*containers: ContainerSeen, gpus: tuple[GpuSeen, ...] = GPUS, **more: Any) -> list[GpuUse]:
    own = tuple(one for one in containers if one.cluster == "lab")
    others = tuple(one for one in containers if one.cluster != "lab")
    seen = host_seen("a", gpus=gpus, containers=own, other_containers=others)
    return list(gpu_uses(seen, 500 * MEBI, **more))


def test_a_worker_holds_what_its_label_says() -> None:
    first, second, third = uses(worker())
    assert first.lease == Lease("lab", "kim", "", "w") == second.lease
    assert first.is_free_in("lab") and not first.is_free and not first.is_free_in("other")
    assert str(first.lease) == "the cluster lab of kim"
    assert third.is_free and third.lease is None and not third.is_free_in("lab")


@pytest.mark.parametrize(
    ("state", "is_held"),
    [("running", True), ("paused", True), ("restarting", True), ("exited", False), ("created", False)],
)
def test_only_the_living_hold_anything(state: str, is_held: bool) -> None:
    assert [use.lease is not None for use in uses(worker(state=state))] == [is_held, is_held, False]
    told = uses(master('{"a":["GPU-2"]}', state=state))
    assert [use.lease is not None for use in told] == [False, False, is_held]


def test_a_job_within_a_cluster_is_told_by_its_name() -> None:
    first, second, _ = uses(worker(), master('{"b":["GPU-9"],"whatever its inventory says":["GPU-1"]}'))
    assert first.is_free_in("lab")
    assert second.leases == (Lease("lab", "kim", "mnist-4kq2", "m"),)
    assert not second.is_free_in("lab") and str(second.lease) == "mnist-4kq2 of kim"


def test_a_master_on_another_host_counts_where_all_are_looked_at() -> None:
    head = host_seen("b", other_containers=(master('{"b":1,"a":["GPU-0"]}', cluster="kims"),))
    jobs = job_leases([head, host_seen("a")])
    (first, second, _) = uses(worker(cluster="kims"), jobs=jobs)
    assert (first.lease, second.lease) == (
        Lease("kims", "kim", "mnist-4kq2", "m"),
        Lease("kims", "kim", "", "w"),
    )
    assert not uses(worker(), jobs={})[0].is_free


def test_clusters_that_overlap_both_hold_it() -> None:
    (first, *_) = uses(worker(), worker("v", cluster="other"), master('{"a":["GPU-0"]}', "n", cluster="other"))
    assert [(lease.cluster, lease.job) for lease in first.leases] == [("other", "mnist-4kq2"), ("lab", "")]
    assert first.lease and first.lease.job == "mnist-4kq2" and not first.is_free_in("lab")


def used_by(*processes: GpuProcess) -> tuple[GpuSeen, ...]:
    return (GpuSeen(0, "GPU-0", "T4", processes=processes),)


def test_processes_of_others_hold_a_gpu_from_the_threshold_on() -> None:
    small, large = GpuProcess(7, used_mb=300), GpuProcess(8, used_mb=500)
    (use,) = uses(gpus=used_by(small))
    assert use.is_free and not use.foreign_processes
    (use,) = uses(gpus=used_by(large))
    assert use.foreign_processes == (large,) and not use.is_free
    # Several small ones count together, and one that the driver does not measure counts.
    assert len(uses(gpus=used_by(small, small))[0].foreign_processes) == 2
    assert uses(gpus=used_by(GpuProcess(9)))[0].foreign_processes == (GpuProcess(9),)


def test_processes_of_the_holder_are_its_own_and_nobody_elses() -> None:
    rank = GpuProcess(7, used_mb=9000, container="w")
    (use,) = uses(worker(), gpus=used_by(rank))
    assert use.is_free_in("lab") and not use.foreign_processes
    (use,) = uses(worker(gpus="GPU-5"), gpus=used_by(rank))
    assert use.foreign_processes == (rank,)
    (use,) = uses(worker(), worker("v", "GPU-7", cluster="other"), gpus=used_by(GpuProcess(8, container="v")))
    assert len(use.foreign_processes) == 1 and not use.is_free_in("lab")


def test_a_slice_is_held_like_a_card() -> None:
    part = GpuSeen(0, "MIG-1", "A100 MIG 3g.20gb", parent="GPU-0")
    (use,) = uses(worker(gpus="MIG-1"), gpus=(part,))
    assert use.is_free_in("lab")


def test_labels_that_say_nothing_hold_nothing() -> None:
    seen: HostSeen = host_seen("a", gpus=GPUS, containers=(worker(gpus=""), master("no json"), master("[]")))
    assert all(use.is_free for use in gpu_uses(seen, 1))


def test_slices_of_one_card_are_shared_without_taking_each_other_for_strangers() -> None:
    """Which slice a process is on is not told: on a card that two clusters share it is nobody's stranger."""
    theirs = GpuProcess(7, "python", "kim", 9000, container="t")
    slices = tuple(
        GpuSeen(0, f"MIG-{n}", "A100 MIG 1g.5gb", 5120, parent="GPU-0", processes=(theirs,)) for n in range(3)
    )
    containers = (worker("w", "MIG-0"), worker("t", "MIG-1", cluster="theirs"))
    own, other, free = uses(*containers, gpus=slices)
    assert own.is_free_in("lab") and other.lease and free.is_free
    # Somebody who holds none of them is one.
    stranger = tuple(
        GpuSeen(0, f"MIG-{n}", "A100 MIG 1g.5gb", 5120, parent="GPU-0", processes=(GpuProcess(8, used_mb=9000),))
        for n in range(3)
    )
    assert not any(use.is_free or use.is_free_in("lab") for use in uses(*containers, gpus=stranger))
