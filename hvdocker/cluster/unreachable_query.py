"""Asks the master of a job about hosts that do not answer. Changes nothing."""

from __future__ import annotations

from collections.abc import Collection

from hvdocker import names
from hvdocker.cluster.containers.files import HOSTS_FILE
from hvdocker.cluster.unreachable import UnreachableHost, read_slots, read_unreachable
from hvdocker.engine import archive
from hvdocker.observe.state import ContainerSeen
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink


def ask_master(link: HostLink, master: ContainerSeen, wanted: Collection[str]) -> dict[str, UnreachableHost]:
    """Those of the wanted hosts that its job has: since it began, or since they joined."""

    def read(path: str) -> str:
        return archive.read_text(link.engine(), master.name, f"{names.IN_CONTAINER}/{path}") or ""

    with translating_errors(link.name, f"asking {master.name} about hosts that do not answer"):
        first = {share.host: share.slots for share in master.placement.shares}
        slots = read_slots(read(HOSTS_FILE)) or first
        missed = {name: slots[name] for name in wanted if name in slots}
        if not missed:
            return {}
        known = read_unreachable(master.job, read("ssh/config"), read("ssh/known_hosts"), missed)
        return {one.name: one for one in known}
