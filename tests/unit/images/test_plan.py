"""What `image push` decides, and what a registry changes about `up`."""

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.images.plan import plan_image, plan_push
from hvdocker.images.steps import PullImage, PushImage, ShipImage
from hvdocker.observe.state import ImageSeen
from hvdocker.plan.plan import CONTROLLER, Stage
from tests.unit.builders import GIB, IMAGE, OTHER_IMAGE, host_seen, inventory, state_of

LAB = inventory("hosts: [a, b]")
WITH_REGISTRY = inventory("hosts: [a, b]\nregistry: reg:5000/team")
FOREIGN = ImageSeen("sha256:cccc", "amd64", size_bytes=GIB, is_ours=False)


def test_only_hosts_that_lack_it_are_sent_the_image() -> None:
    state = state_of(host_seen("a"), host_seen("b", image=OTHER_IMAGE), controller_image=IMAGE)
    assert plan_push(LAB, state).stages == (Stage("image", (ShipImage("b", "doc-hvd:cpu", CONTROLLER, GIB),)),)


def test_an_image_that_is_everywhere_is_nothing_to_do() -> None:
    assert plan_push(LAB, state_of(host_seen("a"), host_seen("b"), controller_image=IMAGE)).is_empty


def test_the_same_image_under_another_engines_name_is_not_sent() -> None:
    """Engines that keep images in containerd name them by another digest."""
    stored = ImageSeen("sha256:manifest", "amd64", GIB, is_ours=True, content=IMAGE.content)
    assert plan_push(LAB, state_of(host_seen("a", image=stored), host_seen("b"), controller_image=IMAGE)).is_empty


def test_any_image_may_be_pushed() -> None:
    state = state_of(host_seen("a", image=None), host_seen("b", image=None), controller_image=FOREIGN)
    assert len(list(plan_push(LAB, state).steps)) == 2


def test_an_image_that_is_nowhere_cannot_be_pushed() -> None:
    with pytest.raises(HvdockerError, match="is on no host and not on this machine"):
        plan_push(LAB, state_of(host_seen("a", image=None), host_seen("b", image=None)))


def test_an_image_for_another_cpu_is_refused() -> None:
    arm = ImageSeen("sha256:dddd", "arm64", GIB, is_ours=True)
    with pytest.raises(HostUnfit, match="is for arm64, the hosts are amd64"):
        plan_push(LAB, state_of(host_seen("a", image=None), host_seen("b", image=None), controller_image=arm))


def test_with_a_registry_this_machine_pushes_and_hosts_pull() -> None:
    state = state_of(host_seen("a"), host_seen("b", image=None), controller_image=IMAGE)
    assert plan_push(WITH_REGISTRY, state).stages == (
        Stage("image", (PushImage(CONTROLLER, "doc-hvd:cpu", "reg:5000/team"),)),
        Stage("image", (PullImage("b", "doc-hvd:cpu", "reg:5000/team", False, IMAGE.content),)),
    )


def test_a_registry_is_filled_from_this_machine_only() -> None:
    with pytest.raises(HvdockerError, match="is on a, but not on this machine"):
        plan_push(WITH_REGISTRY, state_of(host_seen("a"), host_seen("b", image=None)))


def test_up_pulls_an_image_that_nobody_has() -> None:
    state = state_of(host_seen("a", image=None), host_seen("b", image=None))
    plan = plan_image(WITH_REGISTRY, state, plan_hosts(WITH_REGISTRY, state))
    assert plan.build == ()
    assert plan.ship == tuple(PullImage(name, "doc-hvd:cpu", "reg:5000/team") for name in "ab")


def test_what_up_pulls_has_to_be_what_this_machine_has() -> None:
    """It pushes nothing: an older build in the registry would be run, and pulled again by the next `up`."""
    state = state_of(host_seen("a"), host_seen("b", image=OTHER_IMAGE), controller_image=IMAGE)
    plan = plan_image(WITH_REGISTRY, state, plan_hosts(WITH_REGISTRY, state))
    assert plan.ship == (PullImage("b", "doc-hvd:cpu", "reg:5000/team", content=IMAGE.content),)


def test_what_up_pulls_has_to_be_what_other_hosts_have() -> None:
    state = state_of(host_seen("a"), host_seen("b", image=None))
    plan = plan_image(WITH_REGISTRY, state, plan_hosts(WITH_REGISTRY, state))
    assert plan.ship == (PullImage("b", "doc-hvd:cpu", "reg:5000/team", content=IMAGE.content, source="a"),)


def test_a_pull_says_which_name_it_asks_for() -> None:
    assert PullImage("a", "x:y", "reg:5000").describe() == "pull reg:5000/x:y"
    assert PullImage("a", "reg:5000/x", "reg:5000").describe() == "pull reg:5000/x:latest"
