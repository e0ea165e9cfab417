"""The script that lists a host's network interfaces, and its parser. Pure.

The script only reads. It needs a POSIX shell and /sys. Addresses come from `ip`. If the host has no `ip`, they come
from /proc/net/route and `hostname -I`. Wireless and slow interfaces have been tested on fixtures only, not on
hardware."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hvdocker.observe.probe import read_probe
from hvdocker.shell.command import Command, shell

_SCRIPT = r"""
for dir in /sys/class/net/*; do
    [ -r "$dir/mtu" ] || continue
    name=${dir##*/}
    read -r mtu < "$dir/mtu"
    read -r flags < "$dir/flags"
    { read -r state < "$dir/operstate"; } 2>/dev/null || state=unknown
    { read -r speed < "$dir/speed"; } 2>/dev/null || speed=-1
    kind=wired
    [ -d "$dir/bridge" ] && kind=bridge
    { [ -d "$dir/wireless" ] || [ -e "$dir/phy80211" ]; } && kind=wireless
    echo "link $name $mtu $flags $state ${speed:--1} $kind"
done
if command -v ip >/dev/null 2>&1; then
    ip -o -4 addr show 2>/dev/null | while read -r _ name _ address _; do
        echo "address ${name%%@*} $address"
    done
else
    while read -r name target _ _ _ _ _ mask _; do echo "route $name $target $mask"; done < /proc/net/route
    for address in $(hostname -I 2>/dev/null); do echo "own $address"; done
fi
echo "done"
"""
IFF_UP = 1


@dataclass(frozen=True)
class InterfaceSeen:
    """A network interface of a host.

    `addresses` are IPv4 addresses in the form `10.0.0.5/24`. `speed_mbit` is None if the driver does not report
    it."""

    name: str
    mtu: int
    is_up: bool = True
    addresses: tuple[str, ...] = ()
    speed_mbit: int | None = None
    is_bridge: bool = False
    is_wireless: bool = False


def query_interfaces() -> Command:
    """Return the command that prints the interfaces, for `read_interfaces`.

    It prints `link` and `address` lines, and at the end `done`. On a host without the program `ip` it prints `route`
    and `own` lines instead of `address` lines."""
    return shell(_SCRIPT)


def read_interfaces(text: str) -> tuple[InterfaceSeen, ...] | None:
    """Parse the output of `query_interfaces`. Return None if the script did not run to its end or found no
    address."""
    answer = read_probe(text)
    found = [seen for line in answer.all("link") if (seen := _link(line.split())) is not None]
    addresses = _addresses(answer.lists)
    if "done" not in answer.values or not addresses:
        return None
    return tuple(replace(seen, addresses=tuple(addresses.get(seen.name, ()))) for seen in found)


def _link(words: list[str]) -> InterfaceSeen | None:
    """Return the interface that a `link` line describes, without its addresses. Return None if the line is not valid.

    `words` are its six values: name, MTU, flags, state, speed and kind. The state `unknown` counts as up, because
    the kernel reports it for tunnels, for example."""
    if len(words) != 6 or not words[1].isdigit():
        return None
    name, mtu, flags, state, speed, kind = words
    return InterfaceSeen(
        name,
        int(mtu),
        is_up=bool(int(flags, 16) & IFF_UP) and state not in ("down", "lowerlayerdown", "notpresent"),
        speed_mbit=int(speed) if speed.isdigit() and int(speed) > 0 else None,
        is_bridge=kind == "bridge",
        is_wireless=kind == "wireless",
    )


def _addresses(lists: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the IPv4 addresses by interface, in the form `10.0.0.5/24`.

    `lists` has the values of the script's lines by key, such as `address`. Without `address` lines, each address of the
    host (`own` lines) is assigned to the interface with a route to its subnet. IPv6 is left out because no launcher
    accepts IPv6 training addresses yet."""
    found: dict[str, list[str]] = {}
    for line in lists.get("address", []):
        name, _, address = line.partition(" ")
        if _is_ipv4(address):
            found.setdefault(name, []).append(address if "/" in address else f"{address}/32")
    networks = [route for line in lists.get("route", []) if (route := _route(line.split())) is not None]
    for address in lists.get("own", []):
        for name, network in networks:
            if _is_ipv4(address) and ipaddress.IPv4Address(address) in network:
                found.setdefault(name, []).append(f"{address}/{network.prefixlen}")
    return found


def _is_ipv4(text: str) -> bool:
    """Whether the text is an IPv4 address, with or without a prefix length (`/24`).

    The check is needed because busybox or an unusual driver may print other text in place of an address."""
    try:
        ipaddress.IPv4Interface(text)
    except ValueError:
        return False
    return True


def _route(words: list[str]) -> tuple[str, ipaddress.IPv4Network] | None:
    """Parse a `route` line of the script into (interface, subnet).

    `words` are its values: interface, destination and mask, as in /proc/net/route (hexadecimal and little-endian).
    Return None for the default route, because it is no subnet, and for a line that does not parse."""
    try:
        name, target, mask = words
        start, bits = (bytes.fromhex(word)[::-1] for word in (target, mask))
        network = ipaddress.IPv4Network((start, str(ipaddress.IPv4Address(bits))))
    except ValueError:
        return None
    return (name, network) if network.prefixlen else None
