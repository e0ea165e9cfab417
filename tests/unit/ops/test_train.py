"""Where the ranks of a request go, before any host is touched."""

import pytest

from hvdocker.errors import NotEnoughSlots, UsageProblem
from hvdocker.model.placement import Placement, Share
from hvdocker.ops.train import TrainRequest, _check, _placement
from hvdocker.plan.places import places
from tests.unit.builders import inventory, master, state_of, with_worker

LAB = inventory("hosts: [{host: gpu-a, name: a, slots: 2}, {host: b, slots: 4}]\nport: 12345\n")
STATE = state_of(with_worker(LAB, "a"), with_worker(LAB, "b"))


def placed(**request: object) -> Placement:
    return _placement(TrainRequest(**request), places(LAB, STATE), STATE)


@pytest.mark.parametrize(
    ("request_", "placement"),
    [
        ({}, Placement((Share("a", 2), Share("b", 4)))),
        ({"np": 2}, Placement((Share("a", 2),))),
        ({"hosts": "a:1,b:3"}, Placement((Share("a", 1), Share("b", 3)))),
        # A host goes by its name, by where it is reached and by its training address.
        ({"hosts": "gpu-a:2,10.0.0.12:1"}, Placement((Share("b", 1), Share("a", 2)))),
        ({"hosts": "localhost:1", "np": 1}, Placement((Share("a", 1),))),
    ],
)
def test_a_requests_placement(request_: dict[str, object], placement: Placement) -> None:
    assert placed(**request_) == placement


def test_one_host_under_two_names_is_refused() -> None:
    with pytest.raises(UsageProblem, match="twice"):
        placed(hosts="a:1,10.0.0.11:1")


def test_by_default_every_slot_even_those_that_a_job_holds() -> None:
    busy = state_of(
        with_worker(LAB, "a", containers=(master("train-abcd", '{"a":2}'),)), with_worker(LAB, "b")
    )
    with pytest.raises(NotEnoughSlots, match="6 wanted, 4 free: 2 on a are held by train-abcd"):
        _placement(TrainRequest(), places(LAB, busy), busy)


@pytest.mark.parametrize("np", [0, -3])
def test_at_least_one_rank(np: int) -> None:
    with pytest.raises(UsageProblem, match=f"-np should be at least 1, got {np}"):
        _check(TrainRequest(np=np))
