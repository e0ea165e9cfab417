"""Which image the workers of a job run, as whole plans."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.cluster.plan.workers import worker_spec_with_image
from hvdocker.cluster.steps import CreateWorker, RefreshTrust, RemoveContainer
from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.images.requirements import Requirements
from hvdocker.images.steps import BuildLayer, ShipImage
from hvdocker.observe.state import ClusterState, ContainerSeen, EngineSeen, HostSeen, ImageSeen
from hvdocker.plan.plan import CONTROLLER, Plan, Stage
from hvdocker.training.plan.worker_images import (
    RequirementsLayer,
    all_run_layer,
    plan_with_requirements,
    plan_without_requirements,
    requirements_layer,
    worker_image,
)
from tests.unit.builders import (
    ARM_ENGINE,
    ENGINE,
    GIB,
    IMAGE,
    MAKER,
    OTHER_IMAGE,
    host_seen,
    host_with_worker,
    inventory,
    master,
    state_of,
)

LAB = inventory("hosts: [a, b, c]\nport: 12345\n")
WORKER = "hvdocker-lab-worker"
WANTED = Requirements("/me/requirements.txt", ("tqdm",))
LAYER = RequirementsLayer(WANTED, IMAGE.content)
LAYERED = ImageSeen("sha256:cccc", "amd64", GIB, is_ours=True, content="content-c")
# The same image in containerd's store, and another build of the same requirements.
STORED = replace(LAYERED, id="sha256:dddd")
TWIN = replace(LAYERED, id="sha256:eeee", content="content-e")


def layered(name: str, image: ImageSeen = LAYERED, base: ImageSeen | None = IMAGE) -> HostSeen:
    """A host whose worker runs the requirements."""
    plain = host_with_worker(LAB, name, image=base)
    worker = plain.containers[0]
    spec = worker_spec_with_image(LAB, plan_hosts(LAB, state_of(plain))[name], MAKER, LAYER.image)
    labels = {
        **worker.labels,
        **spec.all_labels(),
        "hvdocker.requirements": LAYER.key,
        "hvdocker.base": IMAGE.content,
    }
    return replace(plain, containers=(replace(worker, labels=labels, image_id=image.id),))


def planned(
    state: ClusterState, hosts: tuple[str, ...] = ("a", "b"), seen: Mapping[str, ImageSeen] | None = None
) -> Plan:
    return plan_with_requirements(LAB, state, plan_hosts(LAB, state), hosts, LAYER, seen or {}, MAKER)


def plain(*hosts: HostSeen, **changes: object) -> ClusterState:
    return state_of(*(hosts or [host_with_worker(LAB, name) for name in "abc"]), **changes)


def made(plan: Plan) -> list[tuple[str, str]]:
    return [(step.host, step.spec.image) for step in plan.steps if isinstance(step, CreateWorker)]


def test_the_base_is_what_the_hosts_of_the_job_have() -> None:
    state = plain(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", image=None), host_seen("c", image=OTHER_IMAGE))
    assert requirements_layer(LAB, state, ("a", "b"), WANTED) == LAYER
    with pytest.raises(HostUnfit) as caught:
        requirements_layer(LAB, state, ("a", "c"), WANTED)
    assert caught.value.lines == ("a: sha256:aaaa", "c: sha256:bbbb")
    with pytest.raises(HvdockerError, match="the image doc-hvd:cpu is on no host of this job"):
        requirements_layer(LAB, state, ("b",), WANTED)


def test_workers_that_run_the_requirements_are_known_by_their_labels() -> None:
    state = plain(layered("a"), layered("b"), host_with_worker(LAB, "c"))
    assert all_run_layer(LAYER, state, ("a", "b"))
    assert not all_run_layer(LAYER, state, ("a", "c"))
    assert not all_run_layer(RequirementsLayer(WANTED, "other"), state, ("a", "b"))
    assert not all_run_layer(LAYER, plain(layered("a"), layered("b", TWIN)), ("a", "b"))


@pytest.mark.parametrize("engine", [ENGINE, None])
def test_it_is_built_here_shipped_and_run_on_the_hosts_of_the_job_only(engine: EngineSeen | None) -> None:
    state = plain(controller_image=IMAGE, controller_engine=engine)
    plan = planned(state)
    build = BuildLayer(CONTROLLER, LAYER.image, IMAGE.id, IMAGE.content, LAYER.key, WANTED)
    assert plan.stages[:2] == (
        Stage("image", (build,)),
        Stage("image", (
            ShipImage("a", LAYER.image, CONTROLLER),
            ShipImage("b", LAYER.image, CONTROLLER),
        )),
    )  # fmt: skip
    assert [step for step in plan.steps if isinstance(step, RemoveContainer)] == [
        RemoveContainer("a", WORKER, "id-a", "it lacks the requirements"),
        RemoveContainer("b", WORKER, "id-b", "it lacks the requirements"),
    ]
    assert made(plan) == [("a", LAYER.image), ("b", LAYER.image)]
    assert [step.host for step in plan.steps if isinstance(step, RefreshTrust)] == ["c"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"controller_engine": ENGINE},
        {"controller_engine": ENGINE, "controller_image": OTHER_IMAGE},
        {"controller_engine": ARM_ENGINE, "controller_image": IMAGE},
    ],
    ids=["no engine", "no base", "another base", "another architecture"],
)
def test_else_the_head_builds_it(changes: dict[str, object]) -> None:
    state = plain(**changes)
    stored = replace(IMAGE, id="sha256:on-b", content=IMAGE.content)
    state = replace(state, hosts={**state.hosts, "b": replace(state.hosts["b"], image=stored)})
    plan = planned(state, ("b", "a"))
    assert plan.stages[:2] == (
        Stage("image", (BuildLayer("b", LAYER.image, stored.id, IMAGE.content, LAYER.key, WANTED),)),
        Stage("image", (ShipImage("a", LAYER.image, "b"),)),
    )


@pytest.mark.parametrize("where", [CONTROLLER, "a", "c"])
def test_it_is_not_built_where_it_is_somewhere(where: str) -> None:
    plan = planned(plain(controller_image=IMAGE, controller_engine=ENGINE), seen={where: LAYERED})
    assert plan.stages[0] == Stage(
        "image", tuple(ShipImage(name, LAYER.image, where, GIB) for name in "ab" if name != where)
    )
    assert made(plan) == [("a", LAYER.image), ("b", LAYER.image)]


def test_a_host_that_has_it_in_another_store_needs_no_copy() -> None:
    state = plain(layered("a"), layered("b", STORED))
    assert planned(state, seen={"a": LAYERED, "b": STORED}).is_empty


def test_another_build_of_the_same_requirements_is_replaced_by_the_one_that_runs() -> None:
    state = plain(host_with_worker(LAB, "a"), layered("b"))
    plan = planned(state, seen={CONTROLLER: TWIN, "a": TWIN, "b": LAYERED})
    assert plan.stages[0] == Stage("image", (ShipImage("a", LAYER.image, "b", GIB),))
    assert made(plan) == [("a", LAYER.image)]


def test_hosts_of_one_engine_get_no_copies() -> None:
    local = inventory("local: 2\ncluster: lab\n")
    state = state_of(
        host_with_worker(local, "w1"),
        host_with_worker(local, "w2"),
        controller_image=IMAGE,
        controller_engine=ENGINE,
    )
    plan = plan_with_requirements(local, state, plan_hosts(local, state), ("w1", "w2"), LAYER, {}, MAKER)
    assert [type(step) for step in plan.stages[0].steps] == [BuildLayer]
    assert not [step for step in plan.steps if isinstance(step, ShipImage)]
    assert len(made(plan)) == 2


def test_workers_of_a_running_job_are_not_replaced() -> None:
    busy = host_with_worker(LAB, "a", containers=(master("eval-bbbb", '{"a":1}'),))
    with pytest.raises(HvdockerError) as caught:
        planned(plain(busy, host_with_worker(LAB, "b")), seen={CONTROLLER: LAYERED})
    assert caught.value.what == "job eval-bbbb is running, and its worker on a would be replaced"
    assert caught.value.fix == "wait for it, or end it first: hvdocker stop eval-bbbb"


# Without requirements


def without(state: ClusterState, contents: Mapping[str, str]) -> Plan:
    return plan_without_requirements(LAB, state, plan_hosts(LAB, state), tuple(contents), contents, MAKER)


def test_workers_of_one_image_stay_whatever_is_on_it() -> None:
    state = plain(layered("a"), layered("b", STORED))
    assert without(state, {"a": LAYERED.content, "b": STORED.content}).is_empty


def test_where_only_some_have_requirements_all_go_back_to_the_clusters_image() -> None:
    state = plain(layered("a"), host_with_worker(LAB, "b"))
    plan = without(state, {"a": LAYERED.content, "b": IMAGE.content})
    assert made(plan) == [("a", "doc-hvd:cpu")]
    assert [step.why for step in plan.steps if isinstance(step, RemoveContainer)] == [
        "other workers lack its requirements"
    ]


@pytest.mark.parametrize(
    "first",
    [
        host_with_worker(LAB, "a", image_id="sha256:old"),
        layered("a", base=OTHER_IMAGE),
        layered("a", base=None),
    ],
    ids=["an older image", "a base that moved", "a base that is gone"],
)
def test_different_builds_are_refused(first: HostSeen) -> None:
    with pytest.raises(HostUnfit) as caught:
        without(plain(first, host_with_worker(LAB, "b")), {"a": "one", "b": IMAGE.content})
    assert caught.value.lines == ("a: one", "b: sha256:aaaa")
    assert caught.value.fix == "hvdocker up brings them in line"


def test_the_master_is_made_of_what_its_worker_is() -> None:
    state = plain(host_with_worker(LAB, "a"), layered("b"))
    nothing = Plan("train", "lab")
    assert worker_image(LAB, state, "a", nothing) == "doc-hvd:cpu"
    assert worker_image(LAB, state, "b", nothing) == LAYERED.id
    assert worker_image(LAB, state, "a", planned(state, seen={"b": LAYERED})) == LAYER.image


# What `up` makes of it


def up(*hosts: HostSeen) -> Plan:
    state = state_of(*hosts)
    return plan_up(LAB, state, plan_hosts(LAB, state), MAKER)


def test_up_leaves_workers_with_requirements_on_the_clusters_image() -> None:
    assert up(layered("a"), host_with_worker(LAB, "b"), layered("c", STORED)).is_empty


def test_up_replaces_them_when_the_base_changed() -> None:
    newer = [replace(layered(name), image=OTHER_IMAGE) for name in "abc"]
    plan = up(*newer)
    assert {step.why for step in plan.steps if isinstance(step, RemoveContainer)} == {"the image changed"}
    assert made(plan) == [(name, "doc-hvd:cpu") for name in "abc"]


def test_up_makes_a_worker_of_the_clusters_image_where_settings_changed() -> None:
    hosts = [layered(name) for name in "abc"]
    changed = replace(LAB, shm_bytes=GIB)
    state = state_of(*hosts)
    plan = plan_up(changed, state, plan_hosts(changed, state), MAKER)
    assert {step.why for step in plan.steps if isinstance(step, RemoveContainer)} == {"its settings changed"}
    assert made(plan) == [(name, "doc-hvd:cpu") for name in "abc"]


def test_up_compares_a_worker_with_its_own_hosts_image() -> None:
    in_store = replace(IMAGE, id="sha256:manifest")
    hosts = (
        host_with_worker(LAB, "a"),
        host_with_worker(LAB, "b", image=in_store, image_id="sha256:manifest"),
    )
    assert up(*hosts).is_empty
    stale = host_with_worker(LAB, "b", image=in_store, image_id="sha256:older-manifest")
    assert made(up(hosts[0], stale)) == [("b", "doc-hvd:cpu")]


def test_a_clusters_image_that_was_made_from_one_with_requirements_is_an_image_like_any_other() -> None:
    labels = {"hvdocker.requirements": "feed", "hvdocker.base": "content-of-another"}

    def inherited(name: str) -> HostSeen:
        seen = host_with_worker(LAB, name)
        worker: ContainerSeen = seen.containers[0]
        return replace(seen, containers=(replace(worker, labels={**worker.labels, **labels}),))

    assert up(*(inherited(name) for name in "abc")).is_empty
