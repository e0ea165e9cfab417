"""What `keys rotate` decides: an `up` that keeps no worker."""

from dataclasses import replace

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.up import plan_rotation
from hvdocker.cluster.steps import CreateWorker, MakeKeys, RemoveContainer, Trust
from hvdocker.errors import ExitCode, HvdockerError
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import ClusterState
from hvdocker.plan.plan import Plan
from tests.unit.builders import (
    CLIENT_KEY,
    IMAGE,
    MAKER,
    host_seen,
    host_with_worker,
    inventory,
    master,
    state_of,
    worker_as_created,
)
from tests.unit.cluster.plan.test_up import LAB, MEMBERS, WORKER, all_replaced, up


def rotation(wanted: Inventory, state: ClusterState, brought: str | None = None) -> Plan:
    return plan_rotation(wanted, state, plan_hosts(wanted, state), MAKER, brought)


def test_a_rotation_replaces_every_worker_by_the_same_with_new_keys() -> None:
    state = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", state="exited"))
    assert rotation(LAB, state) == all_replaced("keys rotate", LAB, state, "the keys are rotated")


def test_a_rotation_goes_on_where_another_was_cut_off() -> None:
    state = state_of(host_seen("a"), host_with_worker(LAB, "b"))
    plan = rotation(LAB, state)
    assert [step for step in plan.steps if isinstance(step, RemoveContainer)] == [
        RemoveContainer("b", WORKER, "id-b", "the keys are rotated")
    ]
    (made,) = [step for step in plan.steps if isinstance(step, MakeKeys)]
    assert (made.trust.client_key_host, made.trust.new_host_keys) == (None, ("a", "b"))


def test_a_rotation_keeps_a_layer_of_requirements() -> None:
    lab = inventory("hosts: [a]")
    layered = replace(lab, image="hvdocker-req:k1")
    worker = worker_as_created(layered, "a", host_seen("a"), image="sha256:layered")
    labels = {**worker.labels, "hvdocker.requirements": "k1", "hvdocker.base": IMAGE.content}
    state = state_of(host_seen("a", containers=(replace(worker, labels=labels),)))
    assert up(lab, state).is_empty
    (made,) = [step for step in rotation(lab, state).steps if isinstance(step, CreateWorker)]
    assert made.spec.image == "hvdocker-req:k1"


def test_a_rotation_with_a_brought_pair_takes_it_again() -> None:
    brought = inventory("hosts: [a, b]\nkeys: {private: keys/mine, public: keys/mine.pub}\n")
    state = state_of(host_with_worker(brought, "a"), host_with_worker(brought, "b"))
    (made,) = [step for step in rotation(brought, state, CLIENT_KEY).steps if isinstance(step, MakeKeys)]
    pair = ("keys/mine", "keys/mine.pub")
    assert made.trust == Trust("lab", 12345, MEMBERS, user_key_files=pair, new_host_keys=("a", "b"))


def test_a_rotation_needs_a_cluster_and_spares_a_running_job() -> None:
    with pytest.raises(HvdockerError, match="the cluster lab is not up") as caught:
        rotation(LAB, state_of(host_seen("a"), host_seen("b")))
    assert (caught.value.exit_code, caught.value.fix) == (ExitCode.ERROR, "hvdocker up makes new keys")
    worker = worker_as_created(LAB, "b", host_seen("b"))
    job = master("train-abcd", '{"b":1}')
    with pytest.raises(HvdockerError, match="job train-abcd is running"):
        rotation(LAB, state_of(host_with_worker(LAB, "a"), host_seen("b", containers=(worker, job))))
