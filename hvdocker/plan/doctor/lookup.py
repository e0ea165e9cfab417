"""Host names that lead a host to itself."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from hvdocker.model.health import MachineSeen
from hvdocker.model.inventory import Host
from hvdocker.model.report import Finding
from hvdocker.plan.doctor.finding import bad, good, warn
from hvdocker.plan.places import is_loopback


def judge_names(machine: MachineSeen, host: Host, peers: Iterable[Host], address: str) -> Finding:
    """Ranks find each other by address, so that a host's own name on loopback (Debian's 127.0.1.1) does not
    stop them; it hurts programs that look the name up. A peer's name on loopback leads to the wrong host."""
    wrong = [
        f"{peer.host} resolves to {found}"
        for peer in peers
        if peer.name != host.name and (found := loopback_of(machine, peer.host))
    ]
    if wrong:
        command, fix = f"getent hosts {wrong[0].split()[0]}", "remove these lines from its /etc/hosts"
        return bad("name", f"other hosts' names lead to {host.name} itself", wrong, command, fix)
    own = [name for name in dict.fromkeys((machine.hostname, host.host)) if name and not is_address(name)]
    looped = [(name, found) for name in own if (found := loopback_of(machine, name))]
    if looped:
        name, found = looped[0]
        evidence = [
            f"{name} resolves to {found} on the host itself",
            "our ranks use addresses; programs that look up the host's own name tell others a loopback",
        ]
        fix = f"sudo sed -i 's/^{found}\\s.*/{address} {name}/' /etc/hosts"
        return warn("name", "its own name is on loopback", evidence, f"getent hosts {name}", fix)
    return good("name", machine.hostname or host.host)


def looked_up(host: Host, peers: Iterable[Host]) -> Iterator[str]:
    """The names that a host is asked to resolve; addresses need no looking up."""
    return (peer.host for peer in (host, *peers) if not is_address(peer.host))


def loopback_of(machine: MachineSeen, name: str) -> str | None:
    return next((found for found in machine.resolved.get(name, ()) if is_loopback(found)), None)


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
