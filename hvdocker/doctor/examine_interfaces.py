"""The interface plan of all hosts: one look at each, and a judgement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hvdocker.doctor.facts.interfaces import InterfaceSeen, interfaces, read_interfaces
from hvdocker.doctor.judges.interfaces import judge_interfaces
from hvdocker.doctor.report import Finding
from hvdocker.placement.host_plan import HostPlan

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

LOOK_TIMEOUT_S = 20.0


def examine_interfaces(links: Mapping[str, HostLink], placed: Mapping[str, HostPlan]) -> dict[str, Finding]:
    """By host; those of a local cluster have no interfaces of their own, and so no finding."""
    from hvdocker.transport.pool import each

    addresses = {name: place.address for name, place in placed.items() if not place.host.is_local}

    def look(name: str) -> tuple[InterfaceSeen, ...] | None:
        return read_interfaces(links[name].run(interfaces(), timeout_s=LOOK_TIMEOUT_S).text)

    seen = each([name for name in addresses if name in links], look).done
    return judge_interfaces(addresses, seen)
