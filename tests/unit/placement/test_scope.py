"""How far a cluster reaches: what `up` takes, keeps and leaves alone."""

import json
from dataclasses import replace

import pytest

from hvdocker.cluster.containers.roles import worker_spec
from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.errors import ExitCode, HostErrors, HvdockerError, NotEnoughSlots
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.placement.offers import offers_to_cluster, offers_to_job
from hvdocker.placement.scope import (
    ClusterScope,
    current_scope,
    explain_requested_scope,
    full_scope,
    is_complete,
    requested_scope,
    scope_with_other_hosts,
)
from hvdocker.placement.scope_label import expected_slots, label_for_request, up_command
from hvdocker.placement.slots import GpuRequest, HeldSlots, Offer, Slot, SlotRequest
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Elastic
from hvdocker.training.plan.train import check_workers
from tests.unit.builders import IMAGE, MAKER, host_seen, inventory, master, state_of

LAB = inventory("hosts: [a, b, c]\nport: 12345\nimage: doc-hvd:cpu\n")
LEE = GpuProcess(4711, "python", "lee", used_mb=8000)


def gpus(host: str, count: int, **processes: GpuProcess) -> tuple[GpuSeen, ...]:
    used = [(processes[f"at{n}"],) if f"at{n}" in processes else () for n in range(count)]
    return tuple(GpuSeen(n, f"GPU-{host}{n}", "A100", 81920, processes=found) for n, found in enumerate(used))


def devices(host: str, *indexes: int) -> tuple[str, ...]:
    return tuple(f"GPU-{host}{n}" for n in indexes)


def lab(a: int = 5, b: int = 3, c: int = 2) -> ClusterState:
    return state_of(*(host_seen(name, gpus=gpus(name, n)) for name, n in (("a", a), ("b", b), ("c", c))))


def made(wanted: Inventory, state: ClusterState, scope: ClusterScope) -> ClusterState:
    """The state after `up` made that scope."""
    hosts = dict(state.hosts)
    for name, place in plan_hosts(wanted, state, scope).items():
        spec = worker_spec(wanted, place, MAKER)
        labels = {
            **spec.all_labels(),
            "hvdocker.hostkey": f"ssh-ed25519 {name}",
            "hvdocker.clientkey": "ssh-ed25519 K",
        }
        worker = ContainerSeen(f"id-{name}", spec.name, "running", IMAGE.id, labels, created=1)
        others = tuple(one for one in hosts[name].containers if one.role != "worker")
        hosts[name] = replace(hosts[name], containers=(worker, *others))
    return replace(state, hosts=hosts)


def of_others(seen: HostSeen, held: tuple[str, ...], state: str = "running") -> HostSeen:
    labels = {"hvdocker.cluster": "theirs", "hvdocker.owner": "kim", "hvdocker.role": "worker",
              "hvdocker.host": "x", "hvdocker.gpus": ",".join(held)}  # fmt: skip
    return replace(seen, other_containers=(ContainerSeen("id-x", "hvdocker-theirs-worker", state, "i", labels),))


def test_up_alone_takes_every_gpu_and_again_takes_nothing_new() -> None:
    state = lab()
    scope = full_scope(LAB, state)
    assert scope == ClusterScope(
        {
            "a": Share("a", 5, devices("a", 0, 1, 2, 3, 4)),
            "b": Share("b", 3, devices("b", 0, 1, 2)),
            "c": Share("c", 2, devices("c", 0, 1)),
        }
    )
    after = made(LAB, state, scope)
    assert full_scope(LAB, after) == scope == current_scope(LAB, after)
    assert plan_up(LAB, after, plan_hosts(LAB, after, full_scope(LAB, after)), MAKER).is_empty


def test_the_seeds_case_takes_five_and_one_and_keeps_the_three_whole() -> None:
    state, request = lab(), SlotRequest(np=6)
    scope = requested_scope(LAB, state, request, {})
    assert scope.shares == {
        "a": Share("a", 5, devices("a", 0, 1, 2, 3, 4)),
        "c": Share("c", 1, devices("c", 0)),
    }
    assert json.loads(scope.request_label) == {"np": 6}
    after = made(LAB, state, scope)
    assert requested_scope(LAB, after, request, {}) == scope == current_scope(LAB, after)
    assert plan_up(LAB, after, plan_hosts(LAB, after, scope), MAKER).is_empty
    # b is no part of it, and is nobody's trouble.
    check_workers(LAB, plan_hosts(LAB, after), after)
    assert is_complete(LAB, after) and set(scope_with_other_hosts(LAB, after).shares) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("request_", "np"),
    [
        (SlotRequest(np=12, elastic=Elastic(2)), 10),
        (SlotRequest(np=4, elastic=Elastic(2, 6)), 6),
        (SlotRequest(np=4, elastic=Elastic(2)), 4),
    ],
)
def test_an_elastic_request_takes_what_fits_and_is_told_as_that(request_: SlotRequest, np: int) -> None:
    state = lab()
    scope = requested_scope(LAB, state, request_, {})
    assert scope == requested_scope(LAB, state, SlotRequest(np=np), {})
    told = explain_requested_scope(LAB, state, request_, {})
    assert told and told.winner.np == np


def test_an_elastic_request_is_refused_with_the_fewest_that_would_do() -> None:
    with pytest.raises(NotEnoughSlots, match="11 wanted, 10 free"):
        requested_scope(LAB, lab(), SlotRequest(np=12, elastic=Elastic(11)), {})


def test_another_request_moves_the_cluster_and_gives_back_what_it_leaves() -> None:
    state = lab()
    six = made(LAB, state, requested_scope(LAB, state, SlotRequest(np=6), {}))
    three = requested_scope(LAB, six, SlotRequest(np=3), {})
    assert three.shares == {"b": Share("b", 3, devices("b", 0, 1, 2))}
    plan = plan_up(LAB, six, plan_hosts(LAB, six, three), MAKER)
    removed = [(step.host, step.why) for step in plan.steps if type(step).__name__ == "RemoveContainer"]
    assert removed == [(name, "no slot of it is wanted any more") for name in "ac"]


def test_a_host_that_a_job_runs_on_is_not_left() -> None:
    state = lab()
    six = made(LAB, state, requested_scope(LAB, state, SlotRequest(np=6), {}))
    job = master("train-abcd", '{"c":["GPU-c0"]}', host="c")
    busy = replace(six.hosts["c"], containers=(*six.hosts["c"].containers, job))
    six = replace(six, hosts={**six.hosts, "c": busy})
    with pytest.raises(HvdockerError, match="train-abcd is running, and its worker on c would be replaced"):
        plan_up(LAB, six, plan_hosts(LAB, six, requested_scope(LAB, six, SlotRequest(np=3), {})), MAKER)


def test_a_cluster_does_not_grow_beneath_a_running_job() -> None:
    held = of_others(host_seen("a", gpus=gpus("a", 2)), devices("a", 1))
    one = inventory("hosts: [a]\nport: 12345\nimage: doc-hvd:cpu\n")
    small = made(one, state_of(held), full_scope(one, state_of(held)))
    assert current_scope(one, small).shares["a"].devices == devices("a", 0)
    free = replace(small.hosts["a"], other_containers=())
    assert full_scope(one, state_of(free)).shares["a"].devices == devices("a", 0, 1)
    job = master("train-abcd", '{"a":["GPU-a0"]}')
    busy = state_of(replace(free, containers=(*free.containers, job)))
    assert full_scope(one, busy).shares["a"].devices == devices("a", 0)


def test_gpus_of_other_clusters_and_of_foreign_processes_are_left_alone() -> None:
    state = state_of(
        of_others(host_seen("a", gpus=gpus("a", 4, at3=LEE)), devices("a", 0)),
        host_seen("b", gpus=gpus("b", 1, at0=replace(LEE, used_mb=20))),
        host_seen("c", gpus=()),
    )
    assert full_scope(LAB, state).shares == {
        "a": Share("a", 2, devices("a", 1, 2)),
        "b": Share("b", 1, devices("b", 0)),
        "c": Share("c", 1),
    }
    assert offers_to_cluster(LAB, state)[0].held_slots == (
        HeldSlots("the cluster theirs of kim", 1),
        HeldSlots("python (pid 4711) of lee", 1),
    )


def test_a_container_that_does_not_live_holds_nothing() -> None:
    seen = of_others(host_seen("a", gpus=gpus("a", 1)), devices("a", 0), state="exited")
    assert full_scope(LAB, state_of(seen)).shares["a"].devices == devices("a", 0)


def test_a_host_that_has_nothing_to_give_is_named_with_who_holds_it() -> None:
    state = state_of(
        of_others(host_seen("a", gpus=gpus("a", 2)), devices("a", 0, 1)),
        host_seen("b", gpu_error="nvidia-smi did not answer within 10 s"),
    )
    with pytest.raises(HostErrors) as caught:
        full_scope(LAB, state)
    assert [str(error) for error in caught.value.errors] == [
        "a: none of its GPUs is free: 2 held by the cluster theirs of kim",
        "b: its GPUs cannot be used: nvidia-smi did not answer within 10 s",
    ]
    assert [error.exit_code for error in caught.value.errors] == [ExitCode.NO_SLOTS, ExitCode.UNFIT]


def test_who_wants_some_slots_does_without_a_host_whose_driver_hangs() -> None:
    state = state_of(host_seen("a", gpu_error="it hangs"), host_seen("b", gpus=gpus("b", 2)))
    assert set(requested_scope(LAB, state, SlotRequest(np=2), {}).shares) == {"b"}
    with pytest.raises(NotEnoughSlots, match=r"3 wanted, 2 free: 1 on a is held by its driver \(it hangs\)"):
        requested_scope(LAB, state, SlotRequest(np=3), {})


def test_slots_in_the_inventory_are_the_most_that_is_taken() -> None:
    capped = inventory("hosts: [{host: a, slots: 2}]\nport: 12345\nimage: doc-hvd:cpu\n")
    state = state_of(host_seen("a", gpus=gpus("a", 4)))
    assert full_scope(capped, state).shares["a"].devices == devices("a", 0, 1)
    # What the cluster has it keeps, also where others became free.
    held = of_others(host_seen("a", gpus=gpus("a", 4)), devices("a", 0, 1))
    small = made(capped, state_of(held), full_scope(capped, state_of(held)))
    free = state_of(replace(small.hosts["a"], other_containers=()))
    assert full_scope(capped, free).shares["a"].devices == devices("a", 2, 3)


def test_more_slots_than_gpus_is_an_error() -> None:
    greedy = inventory("hosts: [{host: a, slots: 4}]\n")
    with pytest.raises(HvdockerError, match="`slots: 4` is more than the 2 GPUs that it has"):
        full_scope(greedy, state_of(host_seen("a", gpus=gpus("a", 2))))


def test_workers_that_are_missing_are_missed() -> None:
    state = lab()
    six = made(LAB, state, requested_scope(LAB, state, SlotRequest(np=6), {}))
    lost = replace(six, hosts={**six.hosts, "c": replace(six.hosts["c"], containers=())})
    with pytest.raises(HvdockerError, match="it was asked for 6 slots, and has 5") as caught:
        check_workers(LAB, plan_hosts(LAB, lost), lost)
    assert caught.value.fix == "hvdocker up -np 6" and not is_complete(LAB, lost)
    # The same `up` again brings it back, and leaves the rest as it is.
    again = requested_scope(LAB, lost, SlotRequest(np=6), {})
    plan = plan_up(LAB, lost, plan_hosts(LAB, lost, again), MAKER)
    assert {step.host for step in plan.steps if type(step).__name__ == "CreateWorker"} == {"c"}


def test_a_job_gets_what_running_jobs_and_strangers_leave() -> None:
    state = lab(a=4, b=2, c=1)
    after = made(LAB, state, full_scope(LAB, state))
    jobs = (
        master("train-aaaa", '{"a":["GPU-a1","GPU-a2"],"b":["GPU-b0"]}'),
        master("done-cccc", '{"a":["GPU-a0"]}', state="exited"),
        master("old-bbbb", '{"c":1}'),  # of a version that told only how many
    )
    seen = replace(after.hosts["a"], containers=(*after.hosts["a"].containers, *jobs), gpus=gpus("a", 4, at3=LEE))
    after = replace(after, hosts={**after.hosts, "a": seen})
    assert offers_to_job(LAB, after, plan_hosts(LAB, after)) == [
        Offer("a", (Slot("GPU-a0", "A100", 81920),),
              (HeldSlots("train-aaaa of ?", 2), HeldSlots("python (pid 4711) of lee", 1)), has_gpus=True),
        Offer("b", (Slot("GPU-b1", "A100", 81920),), (HeldSlots("train-aaaa of ?", 1),), has_gpus=True),
        Offer("c", (), (HeldSlots("old-bbbb of ?", 1),), has_gpus=True),
    ]  # fmt: skip


def test_a_process_in_a_container_of_ours_is_no_stranger() -> None:
    state = lab(a=1, b=1, c=1)
    after = made(LAB, state, full_scope(LAB, state))
    own = replace(LEE, container="id-a")
    seen = replace(after.hosts["a"], gpus=gpus("a", 1, at0=own))
    after = replace(after, hosts={**after.hosts, "a": seen})
    assert [slot.device for slot in offers_to_job(LAB, after, plan_hosts(LAB, after))[0].free] == ["GPU-a0"]


@pytest.mark.parametrize(
    ("count", "shares"),
    [
        (4, {"w1": devices("m", 0, 1), "w2": devices("m", 2, 3)}),
        (3, {"w1": devices("m", 0, 1), "w2": devices("m", 2)}),
        (1, {"w1": (), "w2": ()}),
    ],
)
def test_local_workers_share_the_machines_gpus(count: int, shares: dict[str, tuple[str, ...]]) -> None:
    two = inventory("local: 2\ncluster: lab\nimage: doc-hvd:cpu\n")
    state = state_of(*(host_seen(name, gpus=gpus("m", count)) for name in ("w1", "w2")))
    scope = full_scope(two, state)
    assert {name: share.devices for name, share in scope.shares.items()} == shares
    assert all(share.slots == max(1, len(share.devices)) for share in scope.shares.values())


@pytest.mark.parametrize(
    ("request_", "np"),
    [
        (SlotRequest(np=6), 6),
        (SlotRequest(exact=(Share("a", 2), Share("b", 1))), 3),
        (SlotRequest(gpu=GpuRequest("A100")), None),
        (SlotRequest(np=2, strategy="spread", include=("b", "a")), 2),
    ],
)
def test_a_request_is_told_by_its_words(request_: SlotRequest, np: int | None) -> None:
    assert expected_slots(label_for_request(request_)) == np
    assert label_for_request(request_) == label_for_request(replace(request_, include=request_.include[::-1]))


def test_all_gpus_of_a_kind_without_a_number() -> None:
    mixed = (*gpus("a", 1), GpuSeen(1, "GPU-a1", "T4", 16384))
    state = state_of(of_others(host_seen("a", gpus=mixed), ()), host_seen("b", gpus=gpus("b", 2)), host_seen("c"))
    scope = requested_scope(LAB, state, SlotRequest(gpu=GpuRequest("T4")), {})
    assert scope.shares == {"a": Share("a", 1, ("GPU-a1",))}


def test_the_head_is_where_the_smallest_share_is() -> None:
    state = lab()
    after = made(LAB, state, requested_scope(LAB, state, SlotRequest(np=6), {}))
    from hvdocker.placement.strategies import place

    found = place(SlotRequest(np=6), offers_to_job(LAB, after, plan_hosts(LAB, after)))
    assert found == Placement((Share("c", 1, devices("c", 0)), Share("a", 5, devices("a", 0, 1, 2, 3, 4))))


def test_hosts_that_are_away_may_be_excluded() -> None:
    state = state_of(host_seen("a", gpus=gpus("a", 2)))
    assert set(requested_scope(LAB, state, SlotRequest(np=2, exclude=("b",)), {}).shares) == {"a"}


def test_a_cluster_of_a_kind_knows_how_much_it_got() -> None:
    state = lab(a=2, b=1, c=1)
    request = SlotRequest(gpu=GpuRequest("A100"), exclude=("c",))
    after = made(LAB, state, requested_scope(LAB, state, request, {}))
    assert expected_slots(current_scope(LAB, after).request_label) == 3
    away = replace(after, hosts={name: after.hosts[name] for name in "ab"})
    assert is_complete(LAB, away) and not is_complete(LAB, replace(after, hosts={"a": after.hosts["a"]}))
    assert plan_up(LAB, after, plan_hosts(LAB, after, requested_scope(LAB, after, request, {})), MAKER).is_empty


def test_a_paused_job_holds_its_gpus() -> None:
    state = lab(a=2, b=1, c=1)
    after = made(LAB, state, full_scope(LAB, state))
    paused = master("train-abcd", '{"a":["GPU-a0"]}', state="paused")
    seen = replace(after.hosts["a"], containers=(*after.hosts["a"].containers, paused))
    after = replace(after, hosts={**after.hosts, "a": seen})
    assert [slot.device for slot in offers_to_job(LAB, after, plan_hosts(LAB, after))[0].free] == ["GPU-a1"]


def test_a_gpu_that_another_cluster_took_while_the_worker_slept_is_not_used() -> None:
    state = lab(a=2, b=1, c=1)
    after = made(LAB, state, full_scope(LAB, state))
    after = replace(after, hosts={**after.hosts, "a": of_others(after.hosts["a"], devices("a", 1))})
    offer = offers_to_job(LAB, after, plan_hosts(LAB, after))[0]
    assert [slot.device for slot in offer.free] == ["GPU-a0"]
    assert offer.held_slots == (HeldSlots("the cluster theirs of kim", 1),)


@pytest.mark.parametrize(
    ("request_", "command"),
    [
        (SlotRequest(np=6), "hvdocker up -np 6"),
        (SlotRequest(exact=(Share("a", 2), Share("b", 1))), "hvdocker up -H a:2,b:1"),
        (SlotRequest(np=2, gpu=GpuRequest("RTX 3090", 8192), strategy="spread", exclude=("c",)),
         "hvdocker up -np 2 --strategy spread --gpu 'RTX 3090:8192MB' --exclude c"),
        (SlotRequest(gpu=GpuRequest(is_none=True), include=("a", "b")),
         "hvdocker up --gpu none --include a,b"),
    ],
)  # fmt: skip
def test_the_command_that_makes_it_whole_again(request_: SlotRequest, command: str) -> None:
    assert up_command(label_for_request(request_)) == command
    assert up_command("") == up_command("[") == up_command('{"np":null,"gpu":3}') == "hvdocker up"


def test_why_there_is_told_only_of_what_is_placed_now() -> None:
    state, request = lab(), SlotRequest(np=6)
    told = explain_requested_scope(LAB, state, request, {})
    assert told and told.winner.hosts == ("c", "a")
    assert explain_requested_scope(LAB, made(LAB, state, requested_scope(LAB, state, request, {})), request, {}) is None


TWO = inventory("local: 2\ncluster: lab\nimage: doc-hvd:cpu\n")


def test_local_workers_keep_what_they_have_while_a_job_runs() -> None:
    busy, free = gpus("m", 4, at0=LEE), gpus("m", 4)
    state = state_of(*(host_seen(name, gpus=busy) for name in ("w1", "w2")))
    after = made(TWO, state, full_scope(TWO, state))
    # Hosts of a local cluster share an engine.
    workers = tuple(one for seen in after.hosts.values() for one in seen.containers)
    job = master("train-abcd", '{"w1":["GPU-m1"]}', host="w1")
    running = state_of(*(host_seen(name, gpus=free, containers=(*workers, job)) for name in ("w1", "w2")))
    shares = full_scope(TWO, running).shares
    assert [share.devices for share in shares.values()] == [devices("m", 1, 2), devices("m", 3)]
    idle = state_of(*(host_seen(name, gpus=free, containers=workers) for name in ("w1", "w2")))
    assert [share.devices for share in full_scope(TWO, idle).shares.values()] == [
        devices("m", 0, 1),
        devices("m", 2, 3),
    ]


def test_a_broken_driver_keeps_nobody_from_working_on_this_machine() -> None:
    broken = state_of(*(host_seen(name, gpu_error="driver/library version mismatch") for name in ("w1", "w2")))
    assert [share.slots for share in full_scope(TWO, broken).shares.values()] == [1, 1]


def test_a_machine_without_an_engine_offers_nothing() -> None:
    assert offers_to_cluster(TWO, ClusterState({})) == []
    assert current_scope(TWO, ClusterState({})).shares == {}


def test_a_worker_that_came_back_is_not_taken_for_a_part_of_the_cluster() -> None:
    state = lab(a=1, b=1, c=1)
    first = made(LAB, state, requested_scope(LAB, state, SlotRequest(np=2, exclude=("c",)), {}))
    back = replace(first.hosts["a"].containers[0], id="id-c")
    labels = {**back.labels, "hvdocker.host": "c", "hvdocker.gpus": "GPU-c0"}
    seen = replace(first.hosts["c"], containers=(replace(back, labels=labels),))
    torn = replace(first, hosts={**first.hosts, "c": seen})
    with pytest.raises(HvdockerError, match="a worker is left of before: it was asked for 2 slots, and has 3"):
        check_workers(LAB, plan_hosts(LAB, torn), torn)
    assert not is_complete(LAB, torn)
    again = requested_scope(LAB, torn, SlotRequest(np=2, exclude=("c",)), {})
    plan = plan_up(LAB, torn, plan_hosts(LAB, torn, again), MAKER)
    assert [step.host for step in plan.steps if type(step).__name__ == "RemoveContainer"] == ["c"]


def test_where_nothing_of_a_kind_is_free_it_is_told_who_holds_it() -> None:
    state = state_of(of_others(host_seen("a", gpus=gpus("a", 2)), devices("a", 0, 1)))
    with pytest.raises(NotEnoughSlots, match="0 free of A100: 2 on a are held by the cluster theirs of kim"):
        requested_scope(LAB, state, SlotRequest(gpu=GpuRequest("A100")), {})
