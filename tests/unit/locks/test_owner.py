from dataclasses import replace

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.locks.owner import refuse_foreign_job, refuse_foreign_owner
from hvdocker.observe.state import ClusterState, ContainerSeen
from tests.unit.builders import host_seen, host_with_worker, inventory, state_of

LAB = inventory("hosts: [a, b]")


def owned(**owners: str | None) -> ClusterState:
    """Hosts whose worker carries that owner's label, or none."""
    hosts = []
    for name, owner in owners.items():
        seen = host_with_worker(LAB, name)
        [worker] = seen.containers
        labels = {key: value for key, value in worker.labels.items() if key != "hvdocker.owner"}
        named = {"hvdocker.owner": owner} if owner else {}
        hosts.append(replace(seen, containers=(replace(worker, labels={**labels, **named}),)))
    return state_of(*hosts)


def test_another_persons_cluster_of_the_same_name_is_left_alone() -> None:
    with pytest.raises(HvdockerError) as caught:
        refuse_foreign_owner(LAB, owned(a="bob", b="ada"), "ada", is_forced=False)
    assert caught.value.what == "the cluster lab on these hosts belongs to bob"
    assert caught.value.fix and "--force" in caught.value.fix and "cluster:" in caught.value.fix


def test_all_owners_are_named_once() -> None:
    with pytest.raises(HvdockerError, match=r"belongs to bob, eve$"):
        refuse_foreign_owner(LAB, owned(a="eve", b="bob"), "ada", is_forced=False)


@pytest.mark.parametrize(
    "state",
    [owned(a="ada", b="ada"), owned(a="ada", b=None), state_of(host_seen("a"))],
    ids=["own", "no label", "none"],
)
def test_ones_own_cluster_or_none_is_fine(state: ClusterState) -> None:
    refuse_foreign_owner(LAB, state, "ada", is_forced=False)


def test_force_is_an_answer() -> None:
    refuse_foreign_owner(LAB, owned(a="bob"), "ada", is_forced=True)


def job_of(owner: str | None) -> ContainerSeen:
    labels = {"hvdocker.role": "master", "hvdocker.job": "train-abcd"}
    return ContainerSeen(
        "id",
        "hvdocker-lab-train-abcd",
        "running",
        "",
        {**labels, **({"hvdocker.owner": owner} if owner else {})},
    )


def test_another_persons_job_in_another_persons_cluster_is_left_alone() -> None:
    workers = owned(a="bob").workers().values()
    with pytest.raises(HvdockerError, match=r"train-abcd belongs to bob$") as caught:
        refuse_foreign_job(job_of("bob"), workers, "ada", is_forced=False)
    assert caught.value.fix and "--force" in caught.value.fix
    refuse_foreign_job(job_of("bob"), workers, "ada", is_forced=True)


@pytest.mark.parametrize(("job", "cluster"), [("ada", "bob"), ("bob", "ada"), (None, "bob")])
def test_ones_own_job_and_any_job_in_ones_own_cluster_may_be_stopped(job: str | None, cluster: str) -> None:
    refuse_foreign_job(job_of(job), owned(a=cluster).workers().values(), "ada", is_forced=False)
