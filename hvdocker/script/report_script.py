"""A plan as a shell script, with what only the outside knows: the template, and where sudo is needed."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker import assets
from hvdocker.inventory.inventory import Inventory
from hvdocker.observe.state import HostSeen
from hvdocker.plan.plan import Plan
from hvdocker.script.script import script_of


def as_script(plan: Plan, inventory: Inventory, hosts: Mapping[str, HostSeen]) -> str:
    sudo_hosts = frozenset(name for name, seen in hosts.items() if seen.needs_sudo)
    return script_of(plan, inventory, assets.ssh_config_template(), sudo_hosts)
