"""Why a request cannot be met, and what would do instead."""

import pytest

from hvdocker.errors import ExitCode, NotEnoughSlots
from hvdocker.placement.slots import GpuRequest, HeldSlots, Offer, SlotRequest
from hvdocker.placement.strategies import place
from hvdocker.protocol.placement import Share
from tests.unit.placement.strategies.build_offers import cpus, gpu_offers, gpus

KIM = HeldSlots("mnist-4kq2 of kim", 2)
ADA = HeldSlots("bert-7xx3 of ada", 1)
WAIT = "stop what holds them"


def refused(request: SlotRequest, offers: list[Offer]) -> NotEnoughSlots:
    with pytest.raises(NotEnoughSlots) as caught:
        place(request, offers)
    assert caught.value.exit_code == ExitCode.NO_SLOTS
    return caught.value


def test_who_holds_what_is_missing() -> None:
    error = refused(SlotRequest(6), [gpus("a", "T4", "T4", "T4"), gpus("b", "T4", "T4", holds=(KIM,))])
    assert error.what == "6 wanted, 5 free: 2 on b are held by mnist-4kq2 of kim"
    assert error.lines == ("a: 3 of 3 free", "b: 2 of 4 free, 2 held by mnist-4kq2 of kim")
    assert error.fix == f"ask for fewer: -np 5; {WAIT}"


def test_of_many_holders_those_who_hold_most_are_named() -> None:
    offers = [cpus("a", 0, ADA), cpus("b", 1, KIM, ADA), cpus("c", 0, HeldSlots("python (pid 71)", 4))]
    error = refused(SlotRequest(9), offers)
    assert error.what == (
        "9 wanted, 1 free: 4 on c are held by python (pid 71), 2 on b are held by mnist-4kq2 of kim, "
        "and 2 more by others"
    )
    assert error.lines == (
        "a: 0 of 1 free, 1 held by bert-7xx3 of ada",
        "b: 1 of 4 free, 2 held by mnist-4kq2 of kim, 1 held by bert-7xx3 of ada",
        "c: 0 of 4 free, 4 held by python (pid 71)",
    )


def test_waiting_is_no_way_where_there_are_not_as_many() -> None:
    error = refused(SlotRequest(9), [cpus("a", 1, ADA), cpus("b", 2)])
    assert error.what == "9 wanted, 3 free: 1 on a is held by bert-7xx3 of ada"
    assert error.fix == "ask for fewer: -np 3; say `slots:` in the inventory"
    assert refused(SlotRequest(9), gpu_offers(2, 2)).fix == "ask for fewer: -np 4; add hosts"


def test_everything_means_also_what_is_held() -> None:
    error = refused(SlotRequest(), [cpus("a", 4), cpus("b", 0, KIM)])
    assert error.what == "6 wanted, 4 free: 2 on b are held by mnist-4kq2 of kim"
    held_gpus = [cpus("a", 4), Offer("b", (), (KIM,), has_gpus=True)]
    error = refused(SlotRequest(), held_gpus)
    assert error.what == "2 wanted, 0 free: 2 on b are held by mnist-4kq2 of kim"
    assert error.lines == ("a: 4 of 4 free, not as wanted", "b: 0 of 2 free, 2 held by mnist-4kq2 of kim")
    assert error.fix == f"want processors: --gpu none; {WAIT}"


def test_what_does_not_fit_the_wish() -> None:
    offers = [gpus("a", "A100", "T4", "T4"), gpus("b", "T4"), cpus("c", 2)]
    error = refused(SlotRequest(2, gpu=GpuRequest("A100", 81920)), offers)
    assert error.what == "2 wanted, 1 free of A100:80GB"
    assert error.lines == (
        "a: 3 of 3 free, 2 of them not as wanted",
        "b: 1 of 1 free, not as wanted",
        "c: 2 of 2 free, not as wanted",
    )
    assert error.fix == "ask for fewer: -np 1; wish for another --gpu: hvdocker gpus shows them"
    error = refused(SlotRequest(3, gpu=GpuRequest(is_none=True)), offers)
    assert error.what == "3 wanted, 2 free without a GPU"
    assert error.fix == "ask for fewer: -np 2; leave out --gpu"


def test_everything_of_a_model_counts_what_is_held_among_its_likes() -> None:
    """Nobody says of which model a held slot is."""
    offers = [
        gpus("a", "A100", holds=(KIM,)),
        gpus("b", "T4", holds=(ADA,)),
        gpus("c", "A100", "T4", holds=(ADA,)),
    ]
    assert refused(SlotRequest(gpu=GpuRequest("A100")), offers).what.startswith("4 wanted, 2 free of A100: ")


def test_nothing_at_all() -> None:
    assert refused(SlotRequest(), [cpus("a", 0)]).what == "1 wanted, 0 free"
    assert refused(SlotRequest(1, gpu=GpuRequest("T4")), [cpus("a", 1)]).what == "1 wanted, 0 free of T4"


def test_hosts_that_were_left_out_are_named() -> None:
    error = refused(SlotRequest(4, exclude=("a", "c")), gpu_offers(5, 3, 2))
    assert (error.what, error.lines) == (
        "4 wanted, 3 free",
        ("b: 3 of 3 free", "left out, as you said: a, c"),
    )
    assert error.fix == "ask for fewer: -np 3; leave out fewer hosts"


def test_no_equal_shares() -> None:
    error = refused(SlotRequest(7, "balanced"), gpu_offers(5, 3, 2))
    assert error.what == "7 wanted, 10 free, but not in equal shares"
    assert error.fix == "-np 6 can be had in equal shares; or take --strategy pack"
    error = refused(SlotRequest(7, "balanced"), gpu_offers(4, 4))
    assert error.fix == "-np 6 or -np 8 can be had in equal shares; or take --strategy pack"
    assert refused(SlotRequest(11, "balanced"), gpu_offers(5, 3, 2)).fix == "ask for fewer: -np 6; add hosts"


@pytest.mark.parametrize("free", [(5, 3, 2), (4, 4), (1,), (7, 7, 3, 2, 2, 2), (6, 1)])
def test_numbers_that_are_told_can_be_had(free: tuple[int, ...]) -> None:
    """And those between them cannot."""
    can = [np for np in range(1, sum(free) + 1) if _can(np, free)]
    for np in set(range(1, sum(free) + 1)) - set(can):
        below = max(number for number in can if number < np)
        above = [number for number in can if number > np][:1]
        told = " or ".join(f"-np {number}" for number in (below, *above))
        assert refused(SlotRequest(np, "balanced"), gpu_offers(*free)).fix.startswith(f"{told} can be had")  # type: ignore[union-attr]  # it has a fix


def _can(np: int, free: tuple[int, ...]) -> bool:
    return any(np == hosts * share and sum(size >= share for size in free) >= hosts
               for hosts in range(1, 10) for share in range(1, 10))  # fmt: skip


def test_a_host_of_an_exact_placement() -> None:
    error = refused(SlotRequest(exact=(Share("b", 2),)), [cpus("a", 4), cpus("b", 1, ADA)])
    assert error.what == "2 wanted on b, 1 free: 1 on b is held by bert-7xx3 of ada"
    assert error.lines == ("b: 1 of 2 free, 1 held by bert-7xx3 of ada",)
    assert error.fix == f"ask for less there, or let slots be placed: -np instead of -H; {WAIT}"
    assert refused(SlotRequest(exact=(Share("b", 9),)), gpu_offers(1, 1)).what == "9 wanted on b, 1 free"


def test_very_many_hosts_are_not_all_listed() -> None:
    error = refused(SlotRequest(), [cpus(f"h{n}", 1, ADA) for n in range(100)])
    assert len(error.lines) == 41 and error.lines[-1] == "… and 60 more hosts"
