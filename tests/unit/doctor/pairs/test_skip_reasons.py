"""Why a host's cells are grey, and the command that changes it."""

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.doctor.pairs.pair_results import SkipReason
from hvdocker.doctor.pairs.skip_reasons import (
    failure_reason,
    hosts_to_skip,
    no_listener_reason,
    old_image_reason,
)
from hvdocker.errors import HostUnreachable
from tests.unit.builders import IMAGE, host_seen, inventory, state_of

LAB = inventory("hosts: [a, b]")
BOTH = frozenset({"a", "b"})


def test_hosts_that_were_not_reached_or_not_seen() -> None:
    state = state_of(host_seen("a"))
    host_plans = plan_hosts(LAB, state)
    assert hosts_to_skip(LAB, state, host_plans, frozenset({"a"}), "") == {
        "b": SkipReason("not reached", ("b was not reached",))
    }
    assert hosts_to_skip(LAB, state, host_plans, BOTH, "")["b"].shown == "not seen"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("10.0.0.77", "no interface of a has its training address 10.0.0.77"),
        ("127.0.0.1", "which only a itself can reach"),
        ("10.0.0.12", "and that of another host too"),
    ],
)
def test_an_address_that_is_not_the_hosts_own(address: str, words: str) -> None:
    wanted = inventory(f"hosts: [{{host: a, address: {address}}}, b]")
    state = state_of(host_seen("a", addresses=("127.0.0.1", "10.0.0.11", "10.0.0.12")), host_seen("b"))
    found = hosts_to_skip(wanted, state, plan_hosts(wanted, state), BOTH, "")["a"]
    assert found.shown == "address" and words in found.evidence[0]
    assert found.fix is not None and "`network:`" in found.fix


@pytest.mark.parametrize(
    ("image", "others", "flag", "fix"),
    [
        ("doc-hvd:cpu", IMAGE, "-i lab.yaml", "hvdocker image push -i lab.yaml"),
        ("doc-hvd:cpu", IMAGE, "", "hvdocker image push"),
        ("doc-hvd:cpu", None, "", "hvdocker image build --target cpu"),
        ("mine:1", None, "", "docker pull mine:1"),
    ],
)
def test_a_host_without_the_image(image: str, others: object, flag: str, fix: str) -> None:
    wanted = inventory(f"hosts: [a, b]\nimage: {image}")
    state = state_of(host_seen("a", image=None), host_seen("b", image=others))
    found = hosts_to_skip(wanted, state, plan_hosts(wanted, state), BOTH, flag)["a"]
    assert (found.shown, found.fix) == ("no image", fix)
    assert f"a has no image {image}" in found.evidence[0]


def test_older_images_failed_listeners_and_lost_hosts() -> None:
    assert old_image_reason(LAB, "a", "usage: check sshd\n") == SkipReason(
        "old image",
        (
            "the image doc-hvd:cpu on a comes from an older hvdocker: its checks are fewer",
            "usage: check sshd",
        ),
        "hvdocker image build --target cpu && hvdocker up",
    )
    nowhere = no_listener_reason("a", "cannot listen on 10.0.0.9: Cannot assign requested address", "")
    assert nowhere.fix is not None and "`address:`" in nowhere.fix
    error = HostUnreachable("the connection was lost", host="a", lines=["EOF"], fix="again")
    assert failure_reason(error) == SkipReason("failed", ("a: the connection was lost", "EOF"), "again")
