"""What speaks against a training address."""

import pytest

from hvdocker.doctor.facts.interfaces import InterfaceSeen
from hvdocker.doctor.judges.interfaces import judge_interfaces
from hvdocker.doctor.report import Finding, Mark

LO = InterfaceSeen("lo", 65536, addresses=("127.0.0.1/8",))
DOCKER0 = InterfaceSeen("docker0", 1500, is_up=False, addresses=("172.17.0.1/16",), is_bridge=True)


def eth(address: str = "10.0.0.11/24", name: str = "eth0", mtu: int = 1500, **more: object) -> InterfaceSeen:
    return InterfaceSeen(name, mtu, addresses=(address,), **more)  # type: ignore[arg-type]  # its own fields


def judge(address: str, *seen: InterfaceSeen) -> Finding:
    """Of a, beside an ordinary b."""
    facts = {"a": (LO, DOCKER0, *seen), "b": (LO, eth("10.0.0.12/24"))}
    return judge_interfaces({"a": address, "b": "10.0.0.12"}, facts)["a"]


def test_an_ordinary_host() -> None:
    about = "a trains over eth0 10.0.0.11/24, MTU 1500"
    assert judge("10.0.0.11", eth()) == Finding("network", Mark.GOOD, "eth0 10.0.0.11/24", (about,))


@pytest.mark.parametrize(
    ("address", "seen", "mark", "shown", "words"),
    [
        ("172.17.0.1", eth(), Mark.BAD, "docker0", "same addresses"),
        ("192.168.122.1", eth("192.168.122.1/24", "virbr0"), Mark.BAD, "virbr0", "same addresses"),
        (
            "172.18.0.1",
            eth("172.18.0.1/16", "br-0123456789ab"),
            Mark.BAD,
            "br-0123456789ab",
            "same addresses",
        ),
        ("127.0.0.1", eth(), Mark.BAD, "loopback", "cannot reach"),
        ("10.0.0.99", eth(), Mark.BAD, "10.0.0.99 is nowhere", "10.0.0.11/24 (eth0)"),
        ("169.254.7.8", eth("169.254.7.8/16"), Mark.WARN, "link-local", "nobody gave a an address"),
        ("10.0.0.11", eth(is_up=False), Mark.BAD, "eth0 is down", "eth0 is down"),
        ("10.0.0.11", eth(name="wlan0", is_wireless=True), Mark.WARN, "wlan0 is wireless", "wait for it"),
        ("10.0.0.11", eth(speed_mbit=100), Mark.WARN, "100 Mbit/s", "cable"),
        ("10.0.0.11", eth(mtu=9000), Mark.WARN, "MTU 9000", "other hosts have 1500"),
        ("10.9.9.9", eth("10.9.9.9/24"), Mark.WARN, "another subnet", "not in 10.0.0.0/24"),
    ],
)
def test_what_speaks_against_it(address: str, seen: InterfaceSeen, mark: Mark, shown: str, words: str) -> None:
    finding = judge(address, seen)
    if address == "10.9.9.9":
        # Of two subnets neither is the usual one: the first host's counts.
        facts = {"b": (LO, eth("10.0.0.12/24")), "a": (LO, seen)}
        finding = judge_interfaces({"b": "10.0.0.12", "a": address}, facts)["a"]
    assert (finding.mark, finding.shown) == (mark, shown)
    assert words in " | ".join(finding.evidence)
    assert finding.fix


def test_an_ipv6_address_is_not_called_missing() -> None:
    finding = judge("fd00::1", eth())
    assert finding.mark is Mark.UNKNOWN and "is IPv6" in finding.evidence[0]


def test_two_interfaces_in_one_subnet() -> None:
    finding = judge("10.0.0.11", eth(), eth("10.0.0.21/24", "eth1"))
    assert (finding.mark, finding.shown) == (Mark.WARN, "eth0 and eth1")
    assert "eth1 (10.0.0.21/24) is in the same subnet as eth0" in finding.evidence[1]
    assert finding.fix is not None and "arp_filter=1" in finding.fix


def test_all_complaints_are_told_and_the_worst_is_shown() -> None:
    finding = judge("10.0.0.11", eth(is_up=False, speed_mbit=10, mtu=1400))
    assert (finding.mark, finding.shown) == (Mark.BAD, "eth0 is down")
    assert finding.fix == "sudo ip link set dev eth0 up"
    assert len(finding.evidence) == 4


def test_a_bridge_of_a_persons_own_and_a_single_address_are_fine() -> None:
    assert judge("10.0.0.11", eth(name="br0", is_bridge=True)).mark is Mark.GOOD
    # Clouds give addresses without a subnet, and route.
    facts = {"a": (LO, eth("10.0.0.11/32")), "b": (LO, eth("10.0.0.12/32"))}
    found = judge_interfaces({"a": "10.0.0.11", "b": "10.0.0.12"}, facts)
    assert {finding.mark for finding in found.values()} == {Mark.GOOD}


def test_a_host_that_cannot_tell_is_unknown() -> None:
    finding = judge_interfaces({"a": "10.0.0.11"}, {})["a"]
    assert (finding.mark, finding.shown) == (Mark.UNKNOWN, "10.0.0.11")
