"""Reports the processes on hosts that already listen on the cluster's port, as errors. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.observe.probe import port_holder
from hvdocker.placement.host_plan import HostPlan

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink


def port_errors(
    links: Mapping[str, HostLink], taken: list[str], host_plans: Mapping[str, HostPlan]
) -> list[HvdockerError]:
    """Return one error for each host in `taken`: a process already listens on the worker port of the host.

    The error names that process, or says that the process belongs to another user. `host_plans` has the plan of each
    host, with its port."""
    errors: list[HvdockerError] = []
    for name in taken:
        port = host_plans[name].port
        command = port_holder(port)
        holder = links[name].run(command).text.strip()
        if not holder:
            # The process belongs to another user: only root may see it.
            holder = links[name].run(command.as_root()).text.strip()
        errors.append(
            HostUnfit(
                f"the port {port} is in use",
                host=name,
                command=f"ss -ltnp sport = :{port}",
                lines=[f"held by {holder or 'a process of another user'}"],
                fix="choose another `port:` in the inventory, or leave it out: a free one is found",
            )
        )
    return errors
