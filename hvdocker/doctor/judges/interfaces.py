"""Judges the training address of each host, and the network interface that has this address. Pure."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.cluster.plan.addresses import address_fix_from
from hvdocker.doctor.facts.interfaces import InterfaceSeen
from hvdocker.doctor.pairs.mtu_and_speed import common_mtu
from hvdocker.doctor.report import Finding, Mark, worst_mark

CHECK = "network"
SLOW_MBIT = 1000
# These bridges have the same addresses on every machine. A bridge with another name may lead to the LAN.
_LOCAL_BRIDGE = re.compile(
    r"docker0|docker_gwbridge|br-[0-9a-f]{12}|virbr\d+|cni\d*|cni-podman\d+|podman\d*|lxcbr\d+|lxdbr\d+"
)


@dataclass(frozen=True)
class _Complaint:
    """One thing that is wrong with an interface.

    `shown` is the text for the table cell, and `line` the text for the evidence. `fix` is the command or advice that
    solves the problem."""

    mark: Mark
    shown: str
    line: str
    fix: str | None = None


@dataclass(frozen=True)
class _TrainingInterface:
    """The interface over which a host trains: the interface that has the host's training address (`address`).

    `network` is the subnet of that address. `interfaces` are all interfaces of the host."""

    host: str
    address: ipaddress.IPv4Address
    network: ipaddress.IPv4Network
    interface: InterfaceSeen
    interfaces: tuple[InterfaceSeen, ...]


def judge_interfaces(
    addresses: Mapping[str, str], facts: Mapping[str, tuple[InterfaceSeen, ...] | None]
) -> dict[str, Finding]:
    """Return a finding, by host, about the interface of each training address in `addresses` (by host).

    `facts` has the interfaces of each host. A host that is missing there, or has None, gets an UNKNOWN finding."""
    training_interfaces = {
        name: training
        for name, address in addresses.items()
        if (training := _find_training_interface(name, address, facts.get(name)))
    }
    return {name: _judge(name, address, facts.get(name), training_interfaces) for name, address in addresses.items()}


def _find_training_interface(
    host: str, address: str, seen: tuple[InterfaceSeen, ...] | None
) -> _TrainingInterface | None:
    for interface in seen or ():
        for text in interface.addresses:
            own = ipaddress.IPv4Interface(text)
            if str(own.ip) == address:
                return _TrainingInterface(host, own.ip, own.network, interface, seen or ())
    return None


def _judge(
    host: str,
    address: str,
    seen: tuple[InterfaceSeen, ...] | None,
    training_interfaces: Mapping[str, _TrainingInterface],
) -> Finding:
    if seen is None:
        line = f"the interfaces of {host} could not be read; its training address is {address}"
        return Finding(CHECK, Mark.UNKNOWN, address, (line,), command="ip -o addr")
    if ":" in address:
        # Only IPv4 addresses of interfaces are read. The check `address` refuses IPv6.
        line = f"the training address of {host} is IPv6: its interface was not examined"
        return Finding(CHECK, Mark.UNKNOWN, address, (line,), command="ip -o addr")
    training = training_interfaces.get(host)
    if training is None:
        return _address_not_found(host, address, seen)
    complaints = [
        *_own_complaints(training),
        *_same_subnet(training),
        *(_compared_with_others(training, training_interfaces) if len(training_interfaces) > 1 else ()),
    ]
    plan = f"{training.interface.name} {address}/{training.network.prefixlen}"
    about = f"{host} trains over {plan}, MTU {training.interface.mtu}"
    if not complaints:
        return Finding(CHECK, Mark.GOOD, plan, (about,))
    mark = worst_mark(complaint.mark for complaint in complaints)
    worst = next(complaint for complaint in complaints if complaint.mark is mark)
    lines = (about, *(complaint.line for complaint in complaints))
    return Finding(CHECK, mark, worst.shown, lines, command="ip -o addr", fix=worst.fix)


def _address_not_found(host: str, address: str, seen: tuple[InterfaceSeen, ...]) -> Finding:
    has = [f"{text} ({one.name})" for one in seen for text in one.addresses]
    lines = (
        f"no interface of {host} has the training address {address}: containers could not listen on it",
        f"it has {', '.join(has)}",
    )
    fix = f"{_other_address(seen, address)} (behind NAT it cannot train)"
    return Finding(CHECK, Mark.BAD, f"{address} is nowhere", lines, command="ip -o addr", fix=fix)


def _other_address(seen: tuple[InterfaceSeen, ...], wrong: str) -> str:
    """Return the fix that proposes another `address:` for the inventory than `wrong`, the current training address.

    `seen` are the interfaces of the host. The proposed address is an address of these that other hosts may reach."""
    fit = [one for one in seen if one.is_up and not _LOCAL_BRIDGE.fullmatch(one.name)]
    known = [ipaddress.IPv4Interface(text).ip for one in fit for text in one.addresses]
    return address_fix_from(str(ip) for ip in known if str(ip) != wrong)


def _own_complaints(training: _TrainingInterface) -> list[_Complaint]:
    """Return what is wrong with the training address or its interface, without comparing it with other hosts."""
    name, host, interface = training.interface.name, training.host, training.interface
    quoted, other = shlex.quote(name), _other_address(training.interfaces, str(training.address))
    found = []
    if training.address.is_loopback:
        line = f"{training.address} is the loopback address: other hosts cannot reach it"
        found.append(_Complaint(Mark.BAD, "loopback", line, other))
    elif _LOCAL_BRIDGE.fullmatch(name):
        line = f"{name} is a bridge inside {host}: other machines have the same addresses on theirs"
        found.append(_Complaint(Mark.BAD, name, line, other))
    if training.address.is_link_local:
        line = f"{training.address} is link-local: it was taken because nobody gave {host} an address"
        found.append(_Complaint(Mark.WARN, "link-local", line, other))
    if not interface.is_up:
        line = f"{name} is down"
        found.append(_Complaint(Mark.BAD, f"{name} is down", line, f"sudo ip link set dev {quoted} up"))
    if interface.is_wireless:
        line = f"{name} is wireless: ranks will wait for it"
        found.append(_Complaint(Mark.WARN, f"{name} is wireless", line, other))
    if interface.speed_mbit is not None and interface.speed_mbit < SLOW_MBIT:
        line = f"{name} runs at {interface.speed_mbit} Mbit/s: look at cable and switch port"
        fix = f"sudo ethtool -s {quoted} autoneg on"
        found.append(_Complaint(Mark.WARN, f"{interface.speed_mbit} Mbit/s", line, fix))
    return found


def _same_subnet(training: _TrainingInterface) -> list[_Complaint]:
    """Return a list with one complaint if another interface of the host is in the subnet of the training interface.

    Linux then sends through either interface and answers ARP requests for both. Without such an interface the list is
    empty."""
    others = [
        (one.name, text)
        for one in training.interfaces
        for text in one.addresses
        if one.name != training.interface.name and ipaddress.IPv4Interface(text).network.overlaps(training.network)
    ]
    if not others or training.address.is_loopback or training.network.prefixlen == 32:
        return []
    shown = ", ".join(f"{name} ({text})" for name, text in others)
    name = training.interface.name
    line = f"{shown} is in the same subnet as {name}: answers may leave by the wrong one"
    fix = "sudo sysctl -w net.ipv4.conf.all.arp_filter=1 net.ipv4.conf.all.rp_filter=2"
    return [_Complaint(Mark.WARN, f"{name} and {others[0][0]}", line, fix)]


def _compared_with_others(
    training: _TrainingInterface, training_interfaces: Mapping[str, _TrainingInterface]
) -> list[_Complaint]:
    """Return complaints if the subnet or MTU of this host (`training`) differs from that of most hosts.

    `training_interfaces` has the training interfaces of all hosts, by host. Without a difference the list is empty."""
    found = []
    networks = Counter(other.network for other in training_interfaces.values())
    usual = max(networks, key=lambda network: (networks[network], network == _first(training_interfaces).network))
    if training.address not in usual and training.network.prefixlen < 32:
        line = f"{training.address} is not in {usual}, where other hosts are: what they send is routed"
        found.append(_Complaint(Mark.WARN, "another subnet", line, "set `network:` to a subnet of all hosts"))
    mtu = common_mtu(other.interface.mtu for other in training_interfaces.values())
    own = training.interface.mtu
    if own != mtu:
        line = f"{training.interface.name} has MTU {own}, other hosts have {mtu}"
        fix = f"sudo ip link set dev {shlex.quote(training.interface.name)} mtu {mtu}"
        found.append(_Complaint(Mark.WARN, f"MTU {own}", line, fix))
    return found


def _first(training_interfaces: Mapping[str, _TrainingInterface]) -> _TrainingInterface:
    return next(iter(training_interfaces.values()))
