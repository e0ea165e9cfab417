"""A plan as a shell script, with what only the outside knows: the template, and where sudo is needed."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker import assets
from hvdocker.model.inventory import Inventory
from hvdocker.model.seen import HostSeen
from hvdocker.plan.script import script_of
from hvdocker.plan.steps import Plan


def as_script(plan: Plan, inventory: Inventory, hosts: Mapping[str, HostSeen]) -> str:
    sudo_hosts = frozenset(name for name, seen in hosts.items() if seen.needs_sudo)
    return script_of(plan, inventory, assets.ssh_config_template(), sudo_hosts)
