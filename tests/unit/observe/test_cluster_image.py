"""`up --image` decides the image of a cluster until another `up --image` or `down`."""

from dataclasses import replace

import pytest

from hvdocker.images.default_image import with_forced_image
from hvdocker.observe import hosts
from hvdocker.observe.cluster_image import image_of_cluster, with_image_of_workers
from hvdocker.observe.state import ClusterState
from tests.unit.builders import host_seen, host_with_worker, inventory, state_of

NAMED = inventory("{image: mine:7, hosts: [a, b]}")
FORCED = replace(NAMED, image="doc-hvd:torch", forced_image="doc-hvd:torch")


def brought_up_with(wanted: object) -> ClusterState:
    return state_of(*(host_with_worker(wanted, name) for name in ("a", "b")))  # type: ignore[arg-type]  # Inventory


def test_a_cluster_without_the_flag_follows_the_inventory() -> None:
    state = brought_up_with(NAMED)
    assert with_image_of_workers(NAMED, state) is NAMED
    assert image_of_cluster(NAMED, state.hosts["a"].containers) == "mine:7"


def test_later_verbs_find_the_image_of_the_flag_in_the_labels() -> None:
    state = brought_up_with(FORCED)
    assert with_image_of_workers(NAMED, state) == FORCED
    assert image_of_cluster(NAMED, state.hosts["a"].containers) == "doc-hvd:torch"


def test_a_new_flag_wins_over_the_label() -> None:
    other = replace(NAMED, image="doc-hvd:cpu", forced_image="doc-hvd:cpu")
    state = brought_up_with(FORCED)
    assert with_image_of_workers(other, state) is other
    assert image_of_cluster(other, state.hosts["a"].containers) == "doc-hvd:cpu"


def test_without_workers_the_inventory_decides() -> None:
    assert with_image_of_workers(NAMED, state_of(host_seen("a"))) is NAMED


def test_the_inventorys_image_on_a_host_without_a_worker_is_not_taken_for_the_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise it would be sent to the other hosts in place of the cluster's."""
    monkeypatch.setattr(hosts, "see_controller", lambda *_: state_of())
    worker = host_with_worker(FORCED, "b")
    assert worker.image is not None
    found, state = with_forced_image(NAMED, state_of(host_seen("a", image=worker.image), worker))
    assert found == FORCED
    assert [state.hosts[name].image for name in ("a", "b")] == [None, worker.image]
