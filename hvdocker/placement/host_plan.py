"""A host's part in a cluster, as it was decided: address, port, user, folder, slots, devices."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.inventory.inventory import Host
from hvdocker.observe.state import HostSeen


@dataclass(frozen=True)
class HostPlan:
    """Where a host's containers live, as decided by the planner. `devices` are the GPUs that its worker
    holds: the cluster's lease."""

    host: Host
    seen: HostSeen
    address: str
    port: int
    uid: int
    gid: int
    slots: int
    folder: str
    worker_name: str
    sharing: int = 1
    devices: tuple[str, ...] = ()
    # What the cluster was asked to have, where it was not simply everything.
    asked: str = ""

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def needs_open_folders(self) -> bool:
        """The container's user is neither the one who makes its folders nor root."""
        return self.uid not in (0, self.seen.uid)
