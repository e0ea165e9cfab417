"""Judges name resolution: finds names of hosts that resolve to a loopback address. Pure.

On a host that resolves another host's name to loopback, the name leads to the host itself."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping

from hvdocker.cluster.plan.addresses import is_loopback
from hvdocker.doctor.facts.facts import MachineSeen
from hvdocker.doctor.judges.finding import bad, good
from hvdocker.doctor.report import Finding
from hvdocker.inventory.inventory import Host

LOCALHOST = "localhost"


def judge_names(machine: MachineSeen, host: Host, peers: Iterable[Host], addresses: Mapping[str, str]) -> Finding:
    """Return a BAD finding if the host resolves a peer's name to loopback, because the name then leads to the wrong
    host.

    Otherwise the finding is GOOD. `machine` has the addresses to which the host resolved the names of its `peers`. The
    host's own name may resolve to loopback (127.0.1.1 after Debian's installer): containers have a host name of their
    own, which resolves to the training address. `addresses` are the known training addresses by host, for the fix."""
    wrong = {
        peer.host: (found, addresses.get(peer.name))
        for peer in peers
        if peer.name != host.name and (found := loopback_address(machine, peer.host))
    }
    if wrong:
        evidence = [f"{name} resolves to {found}" for name, (found, _) in wrong.items()]
        command = shlex.join(("getent", "hosts", *wrong))
        fix = hosts_file_fix({name: address for name, (_, address) in wrong.items()})
        return bad("name", f"other hosts' names lead to {host.name} itself", evidence, command, fix)
    return good("name", machine.hostname or host.host)


def hosts_file_fix(names: Mapping[str, str | None]) -> str:
    """Return the command that removes these names from the loopback lines of /etc/hosts and adds lines with their
    addresses.

    `names` has the address of each name, or None if it is unknown. The command writes into the file instead of
    replacing it, because the file may be a mount. If no command can be built, advice is returned instead."""
    if LOCALHOST in names:
        return f"{LOCALHOST} is every host's own name: write another `host:`, or: sudo hostnamectl hostname NAME"
    if not all(re.fullmatch(r"[A-Za-z0-9_.-]+", name) for name in names):
        return "take these names off the loopback lines of its /etc/hosts"
    either = "|".join(name.replace(".", "\\.") for name in names)
    edit = rf"/^\s*(127\.|::1)/{{:x;s/\s({either})(\s|$)/\2/I;tx;/^\s*\S+\s*$/d;}}"
    added = [f"{address} {name}" for name, address in names.items() if address]
    lines = " ".join(('"$new"', *map(shlex.quote, added)))
    read = f"new=$(sed -E {shlex.quote(edit)} /etc/hosts)"
    return f"{read} && printf '%s\\n' {lines} | sudo tee /etc/hosts >/dev/null"


def names_to_resolve(host: Host, peers: Iterable[Host]) -> Iterator[str]:
    """Yield the host names that the host has to resolve: its own and those of its peers.

    Hosts that the inventory names by address are left out."""
    return (peer.host for peer in (host, *peers) if not is_address(peer.host))


def loopback_address(machine: MachineSeen, name: str) -> str | None:
    """Return the loopback address to which the host of `machine` resolved the name.

    Return None if the name resolved to other addresses only, or not at all."""
    return next((found for found in machine.resolved.get(name, ()) if is_loopback(found)), None)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
