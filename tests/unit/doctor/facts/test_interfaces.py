"""What a host's interfaces are, from what its shell says."""

from hvdocker.doctor.facts.interfaces import InterfaceSeen, query_interfaces, read_interfaces
from hvdocker.transport.local_link import LocalLink

TOLD = """\
link lo 65536 0x9 unknown -1 wired
link eth0 1500 0x1003 up 10000 wired
link eth1 9000 0x1002 down -1 wired
link docker0 1500 0x1003 down -1 bridge
link wlp2s0 1500 0x1003 up -1 wireless
address lo 127.0.0.1/8
address lo ::1/128
address eth0 10.0.0.11/24
address eth0 10.0.0.21/24
address eth0 fe80::1/64
address docker0 172.17.0.1/16
done
"""


def test_links_with_their_addresses() -> None:
    assert read_interfaces(TOLD) == (
        InterfaceSeen("lo", 65536, addresses=("127.0.0.1/8",)),
        InterfaceSeen("eth0", 1500, addresses=("10.0.0.11/24", "10.0.0.21/24"), speed_mbit=10000),
        InterfaceSeen("eth1", 9000, is_up=False),
        InterfaceSeen("docker0", 1500, is_up=False, addresses=("172.17.0.1/16",), is_bridge=True),
        InterfaceSeen("wlp2s0", 1500, is_wireless=True),
    )


def test_without_ip_routes_tell_where_an_address_lies() -> None:
    told = """\
link eth0 1500 0x1003 up -1 wired
link docker0 1500 0x1003 up -1 bridge
route Iface Destination Mask
route eth0 00000000 00000000
route eth0 000612C6 00FFFFFF
route docker0 000011AC 0000FFFF
own 198.18.6.11
own 172.17.0.1
own fe80::1
done
"""
    found = read_interfaces(told)
    assert found is not None
    assert {one.name: one.addresses for one in found} == {
        "eth0": ("198.18.6.11/24",),
        "docker0": ("172.17.0.1/16",),
    }


def test_a_line_that_is_no_address_is_passed_over() -> None:
    """Some busyboxes put the line of the link among those of addresses."""
    odd = "link eth0 1500 0x1003 up -1 wired\naddress eth0 mtu\naddress eth0 10.0.0.1/24\ndone\n"
    seen = read_interfaces(odd)
    assert seen and seen[0].addresses == ("10.0.0.1/24",)


def test_half_an_answer_is_none() -> None:
    assert read_interfaces(TOLD.replace("done\n", "")) is None
    assert read_interfaces("sh: not found") is None
    assert read_interfaces("link eth0 1500 0x1003 up -1 wired\ndone\n") is None


def test_this_machine_has_a_loopback() -> None:
    found = read_interfaces(LocalLink("here").run(query_interfaces()).text)
    assert found is not None
    (lo,) = [one for one in found if one.name == "lo"]
    assert lo.is_up and "127.0.0.1/8" in lo.addresses and lo.mtu == 65536
