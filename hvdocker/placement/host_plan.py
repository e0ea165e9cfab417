"""What the planner decides for one host of a cluster: address, port, user, folder, slots and GPUs. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker import names
from hvdocker.inventory.inventory import Host
from hvdocker.observe.state import HostSeen


@dataclass(frozen=True)
class HostPlan:
    """What the planner decided for the containers of one host.

    The sshd of the host's worker listens at `address` and `port`. `uid` and `gid` are the user of the containers.
    `folder` is the cluster's folder on the host, `slots` the number of ranks that the cluster may run there. `devices`
    are the UUIDs of the GPUs that the worker holds for the cluster. `workers_on_machine` is the number of workers on
    the same machine; it is more than 1 only in a local cluster. `request_label` is the request that the cluster was
    created for, as in the label `hvdocker.asked` (`{"np":6}` for `up -np 6`); empty without one."""

    host: Host
    seen: HostSeen
    address: str
    port: int
    uid: int
    gid: int
    slots: int
    folder: str
    worker_name: str
    workers_on_machine: int = 1
    devices: tuple[str, ...] = ()
    # The request that the cluster was created for (scope_label.py); empty if `up` had no flag that chooses slots.
    request_label: str = ""

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def groups(self) -> tuple[int, ...]:
        """The supplementary groups of the containers' user. If the containers run as the SSH user and not as root,
        these are the groups of the SSH user, else there are none."""
        return self.seen.groups if self.uid == self.seen.uid and self.uid != 0 else ()

    @property
    def container_hostname(self) -> str | None:
        """The host name inside of the containers. It is None in a local cluster (all workers on the controller), where
        the engine chooses the host names.

        Collective libraries and MPI send tensors to the address that the host name in the container resolves to. The
        name of the host itself may resolve to a wrong address: to 127.0.1.1 (as set up by Debian's installer) or to
        an address of another network. So the containers have a different host name, which they map to the training
        address."""
        return None if self.host.is_local else names.container_hostname(self.name)

    @property
    def needs_open_folders(self) -> bool:
        """Whether the container's user needs open permissions to write to the host's folders.

        The SSH user creates the folders. The permissions are needed if the container's user (`uid`) is neither
        root nor the SSH user."""
        return self.uid not in (0, self.seen.uid)
