"""Whose turn it is, what is said to those who wait, and who is refused at once."""

from functools import partial
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import NotEnoughSlots, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.locks.ticket import RUNS, Ticket, queue_positions
from hvdocker.observe.state import ClusterState
from hvdocker.protocol.placement import Placement
from hvdocker.training.choose_slots import choose_slots
from hvdocker.training.inputs.request import JobInputs, TrainRequest, check_request
from hvdocker.training.inputs.user_command import UserCommand
from hvdocker.training.queue import place_unless_others_wait, queue_status, slots_text, without_running_jobs
from tests.unit.builders import MAKER, host_with_worker, inventory, master, state_of

LAB = inventory("hosts: [{host: a, slots: 2}, {host: b, slots: 4}]\nport: 12345\n")
FREE = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b"))
BUSY = state_of(host_with_worker(LAB, "a", containers=(master("train-abcd", '{"a":2}'),)), host_with_worker(LAB, "b"))


def ticket(owner: str, wish: str = "4 slots", number: int = 1, cluster: str = "lab", kind: str = "waits") -> Ticket:
    return Ticket("aaaa", owner, "desk", owner, "train", cluster, kind=kind, wish=wish, number=number, held_s=5)


def place(np: int, state: ClusterState) -> Placement:
    env = Env(environ={"HVDOCKER_OWNER": MAKER.owner})
    wish = JobInputs(TrainRequest(np=np), UserCommand((), Path("/nowhere"), "train"), None, {}, {})
    return choose_slots(env, Located(LAB, Path("/nowhere/inventory.yaml")), wish, state)


def test_slots_that_others_wait_for_are_nobody_elses() -> None:
    want = partial(place, 2)
    assert place_unless_others_wait(want, FREE, []).np == 2
    with pytest.raises(NotEnoughSlots, match="2 slots are free, but kim's train of 4 slots waits before you") as caught:
        place_unless_others_wait(want, FREE, [ticket("kim")])
    assert caught.value.fix == "queue up behind: --queue (without -d)"
    with pytest.raises(NotEnoughSlots, match=r"1 slot is free, but .* and 2 others wait before you"):
        place_unless_others_wait(partial(place, 1), FREE, [ticket("kim"), ticket("lee"), ticket("max")])


def test_who_could_wait_is_told_so_and_who_could_not_is_not() -> None:
    with pytest.raises(NotEnoughSlots) as caught:
        place_unless_others_wait(partial(place, 5), BUSY, [ticket("kim")])
    assert "--queue" in str(caught.value.fix)
    assert "kim's train of 4 slots waits for slots too" in caught.value.lines
    with pytest.raises(NotEnoughSlots) as caught:
        place_unless_others_wait(partial(place, 7), BUSY, [])
    assert "--queue" not in str(caught.value.fix)


def test_as_if_no_job_ran() -> None:
    assert place(6, without_running_jobs(BUSY)).np == 6
    assert without_running_jobs(FREE) == FREE


def test_what_is_said_while_waiting() -> None:
    with pytest.raises(NotEnoughSlots) as caught:
        place(6, BUSY)
    assert queue_status([], caught.value) == ("1st in the queue: 6 wanted, 4 free: 2 on a are held by train-abcd of ?")
    assert queue_status([ticket("kim")], None) == "2nd in the queue: after kim's train of 4 slots"
    crowd = [ticket(name) for name in ("kim", "lee", "max", "ned")]
    assert queue_status(crowd, NotEnoughSlots("6 wanted, 4 free: 2 on b are held by mnist of kim")) == (
        "5th in the queue: 6 wanted, 4 free: 2 on b are held by mnist of kim; after kim's train of 4 slots, "
        "lee's train of 4 slots, max's train of 4 slots, 1 more"
    )


@pytest.mark.parametrize("flag", ["is_detached", "is_dry_run"])
def test_nobody_queues_for_somebody_else(flag: str) -> None:
    with pytest.raises(UsageProblem, match="exclude each other"):
        check_request(TrainRequest(is_queued=True, **{flag: True}))


def test_what_is_wanted_in_words() -> None:
    shown = [slots_text(1, None), slots_text(4, None), slots_text(None, "a:2,b:1"), slots_text(None, None)]
    assert shown == ["1 slot", "4 slots", "a:2,b:1", "all slots"]


def test_every_cluster_has_a_queue_of_its_own() -> None:
    there = [
        ticket("kim", number=3),
        ticket("lee", number=1, cluster="other"),
        ticket("max", number=2),
        ticket("ned", number=1, kind=RUNS),
    ]
    assert [(n, host, found.owner) for n, host, found in queue_positions({"a": there, "b": []})] == [
        (1, "a", "max"), (2, "a", "kim"), (1, "a", "lee")
    ]  # fmt: skip
