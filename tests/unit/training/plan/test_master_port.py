"""The ports of a job: a block that is free on all its hosts."""

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.protocol.placement import Placement, Share
from hvdocker.training.plan.master_port import choose_master_port, port_count, ports_label, ports_of_living_jobs
from tests.unit.builders import master


@pytest.mark.parametrize(
    ("count", "taken", "port"),
    [
        (3, set(), 29500),
        (3, {29500}, 29501),
        (3, {29501}, 29502),
        (3, {29503}, 29500),
        (2, {*range(29500, 32767)}, 20000),
        (1, {*range(29500, 32767)}, 32767),
    ],
)
def test_the_first_free_block(count: int, taken: set[int], port: int) -> None:
    assert choose_master_port(count, taken) == port


def test_no_block_is_free() -> None:
    with pytest.raises(HvdockerError, match="no 2 neighbouring TCP ports are free"):
        choose_master_port(2, range(0, 65536, 2))


def test_one_port_for_each_rank_of_the_largest_share() -> None:
    assert port_count(Placement((Share("a", 1), Share("b", 4)))) == 5


@pytest.mark.parametrize(
    ("state", "label", "held"),
    [
        ("running", ports_label(29500, 3), {29500, 29501, 29502}),
        ("paused", "29500:1", {29500}),
        ("exited", "29500:3", set()),
        ("running", "29500", set()),
        ("running", "a:b", set()),
        ("running", "1:99999999", set()),
    ],
)
def test_ports_of_living_jobs(state: str, label: str, held: set[int]) -> None:
    assert ports_of_living_jobs([master("train-abcd", '{"a":1}', state, masterport=label)]) == held
