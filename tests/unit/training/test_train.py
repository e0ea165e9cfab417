"""Where the ranks of a request go, before any host is touched."""

from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HeadLost, HvdockerError, NotEnoughSlots, UsageProblem
from hvdocker.inventory.locate import Located
from hvdocker.observe.state import ClusterState
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Elastic, Resilience
from hvdocker.training.choose_slots import choose_slots
from hvdocker.training.inputs.request import JobInputs, TrainRequest, check_request
from hvdocker.training.inputs.user_command import UserCommand
from hvdocker.training.relaunch import Relaunch, launch_again
from tests.unit.builders import MAKER, host_seen, host_with_worker, inventory, master, state_of

LAB = inventory("hosts: [{host: gpu-a, name: a, slots: 2}, {host: b, slots: 4}]\nport: 12345\n")
STATE = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b"))


def placed(
    state: ClusterState = STATE,
    elastic: Elastic | None = None,
    relaunch: Relaunch | None = None,
    **request: object,
) -> Placement:
    env = Env(environ={"HVDOCKER_OWNER": MAKER.owner})
    work = UserCommand((), Path("/nowhere"), "train")
    wish = JobInputs(TrainRequest(**request), work, None, {}, {}, Resilience(elastic=elastic))
    return choose_slots(env, Located(LAB, Path("/nowhere/inventory.yaml")), wish, state, relaunch)


@pytest.mark.parametrize(
    ("request_", "placement"),
    [
        ({}, Placement((Share("a", 2), Share("b", 4)))),
        ({"np": 2}, Placement((Share("a", 2),))),
        ({"np": 2, "strategy": "spread"}, Placement((Share("a", 1), Share("b", 1)))),
        ({"np": 2, "exclude": "gpu-a"}, Placement((Share("b", 2),))),
        ({"np": 1, "include": "10.0.0.12"}, Placement((Share("b", 1),))),
        ({"hosts": "a:1,b:3"}, Placement((Share("a", 1), Share("b", 3)))),
        # A host goes by its name, by where it is reached and by its training address.
        ({"hosts": "gpu-a:2,10.0.0.12:1"}, Placement((Share("b", 1), Share("a", 2)))),
        ({"hosts": "localhost:1", "np": 1}, Placement((Share("a", 1),))),
        # localhost is where the launcher runs: the head, however large its share is.
        ({"hosts": "localhost:3,a:1"}, Placement((Share("b", 3), Share("a", 1)))),
    ],
)
def test_a_requests_placement(request_: dict[str, object], placement: Placement) -> None:
    assert placed(**request_) == placement


@pytest.mark.parametrize(
    ("request_", "placement"),
    [
        ({"np": 40}, Placement((Share("a", 2), Share("b", 4)))),
        ({"np": 3}, Placement((Share("b", 3),))),
        ({"np": 40, "hosts": "a:1,b:2"}, Placement((Share("a", 1), Share("b", 2)))),
    ],
)
def test_a_pool_takes_the_slots_that_are_free(request_: dict[str, object], placement: Placement) -> None:
    assert placed(launcher="each", **request_) == placement


def test_a_pool_needs_one_slot() -> None:
    job = master("train-abcd", '{"a":2,"b":4}')
    busy = state_of(host_with_worker(LAB, "a", containers=(job,)), host_with_worker(LAB, "b"))
    with pytest.raises(NotEnoughSlots, match="1 wanted, 0 free"):
        placed(busy, launcher="each", np=40)


def test_one_host_under_two_names_is_refused() -> None:
    with pytest.raises(UsageProblem, match="twice"):
        placed(hosts="a:1,10.0.0.11:1")


@pytest.mark.parametrize("flag", ["include", "exclude", "hosts"])
def test_a_host_that_nobody_knows_is_refused(flag: str) -> None:
    with pytest.raises(UsageProblem, match="'z', not in the inventory") as caught:
        placed(np=1, **{flag: "z:1" if flag == "hosts" else "a,z"})
    assert caught.value.fix == "hosts are a, b"


def test_by_default_every_slot_even_those_that_a_job_holds() -> None:
    job = master("train-abcd", '{"a":2}')
    busy = state_of(host_with_worker(LAB, "a", containers=(job,)), host_with_worker(LAB, "b"))
    with pytest.raises(NotEnoughSlots, match="6 wanted, 4 free: 2 on a are held by train-abcd"):
        placed(busy)


@pytest.mark.parametrize("np", [0, -3])
def test_at_least_one_rank(np: int) -> None:
    with pytest.raises(UsageProblem, match=f"-np should be at least 1, got {np}"):
        check_request(TrainRequest(np=np))


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"strategy": "best"}, "there is no strategy 'best'"),
        ({"hosts": "a:1", "strategy": "pack"}, "exclude each other"),
        ({"gpu": "A100:many"}, "--gpu should look like"),
        ({"propagates_exit": True, "is_detached": True}, "--propagate-exit and -d exclude each other"),
    ],
)
def test_flags_that_cannot_be_meant(request_: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageProblem, match=problem):
        check_request(TrainRequest(**request_))


BUSY = state_of(host_with_worker(LAB, "a"), host_with_worker(LAB, "b", containers=(master("x-aaaa", '{"b":3}'),)))


@pytest.mark.parametrize(
    ("request_", "elastic", "placement"),
    [
        ({"np": 4}, Elastic(1), Placement((Share("b", 4),))),
        ({}, Elastic(1, 5), Placement((Share("a", 1), Share("b", 4)))),
        ({}, Elastic(2), Placement((Share("a", 2), Share("b", 4)))),
    ],
)
def test_an_elastic_jobs_placement(request_: dict[str, object], elastic: Elastic, placement: Placement) -> None:
    assert placed(elastic=elastic, **request_) == placement


def test_an_elastic_job_begins_with_what_is_free() -> None:
    assert placed(BUSY, Elastic(2), np=6) == Placement((Share("b", 1), Share("a", 2)))
    with pytest.raises(NotEnoughSlots, match="4 wanted, 3 free"):
        placed(BUSY, Elastic(4), np=6)


LOST = HeadLost("the head a does not answer: the job ended with it")
RELAUNCH = Relaunch("train-abcd", Resilience(first_restart=1), 6, "c0de", LOST)
LEFT = state_of(host_with_worker(LAB, "b"))


@pytest.mark.parametrize(
    ("request_", "placement"),
    [
        ({"np": 6}, Placement((Share("b", 4),))),
        ({}, Placement((Share("b", 4),))),
        ({"np": 2, "include": "a,b"}, Placement((Share("b", 2),))),
        ({"hosts": "a:2,b:3"}, Placement((Share("b", 3),))),
    ],
)
def test_a_job_whose_head_is_gone_takes_what_is_left(request_: dict[str, object], placement: Placement) -> None:
    assert placed(LEFT, relaunch=RELAUNCH, **request_) == placement


def test_a_relaunch_without_workers_that_still_run_is_refused() -> None:
    old = master("train-abcd", '{"b":4}', state="exited", host="b")
    for state in (
        state_of(host_with_worker(LAB, "b", state="exited")),
        state_of(host_with_worker(LAB, "b", containers=(old,))),
    ):
        with pytest.raises(NotEnoughSlots):
            placed(state, relaunch=RELAUNCH, np=2)
    with pytest.raises(HvdockerError, match="is not up"):
        placed(state_of(host_seen("b")), relaunch=RELAUNCH, np=2)


def test_a_relaunch_has_no_more_ranks_than_before() -> None:
    assert placed(STATE, relaunch=Relaunch("train-abcd", Resilience(), 3, "", LOST)).np == 3


def test_a_job_that_was_told_its_hosts_is_not_placed_elsewhere() -> None:
    with pytest.raises(NotEnoughSlots, match="none of the hosts that -H names is left"):
        placed(LEFT, relaunch=RELAUNCH, hosts="a:1")


def test_where_a_job_cannot_be_started_again_the_lost_head_is_still_told() -> None:
    def launch() -> None:
        raise NotEnoughSlots("2 wanted, 1 free")

    lost = HeadLost("the head a does not answer: the job ended with it", lines=["last words of rank 1"])
    kept: list[str] = []
    with pytest.raises(HeadLost) as caught:
        launch_again(launch, Relaunch("train-abcd", Resilience(), 2, "c0de", lost), kept.append)
    assert caught.value is lost and kept == ["train-abcd"]
    assert lost.lines == ("last words of rank 1", "it could not be started again: 2 wanted, 1 free")


def test_ctrl_c_while_a_job_is_started_again_leaves_none_of_its_secrets() -> None:
    def launch() -> str:
        raise KeyboardInterrupt

    kept: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        launch_again(launch, Relaunch("train-abcd", Resilience(), 2, "c0de", HeadLost("gone")), kept.append)
    assert kept == ["train-abcd"]
