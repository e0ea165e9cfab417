"""Selects the hosts of the inventory that a flag names. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker.errors import UsageProblem
from hvdocker.inventory.inventory import Inventory


def select_named_hosts(inventory: Inventory, hosts: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts that the user named, in the inventory's order and each once. `hosts` are names in the
    inventory.

    Raise UsageProblem for a name that is not in the inventory."""
    wanted = set(hosts)
    known = [host.name for host in inventory.hosts]
    if strange := sorted(wanted - set(known)):
        raise UsageProblem(
            f"the inventory has no host {', '.join(strange)}",
            lines=[f"hosts: {', '.join(known)}"],
            fix="name one of these",
        )
    return tuple(name for name in known if name in wanted)


def named_hosts_or_all(inventory: Inventory, hosts: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts in `hosts`, which the user named, in the inventory's order and each once.

    If `hosts` is empty, return all hosts of the inventory. Raise UsageProblem for a name that is not in the
    inventory."""
    return select_named_hosts(inventory, hosts) or tuple(host.name for host in inventory.hosts)
