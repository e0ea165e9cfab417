"""The verb status: shows hosts, workers and jobs of a cluster. Changes nothing.

Workers and jobs are known from the labels of containers, so `status` works on any controller that has the
inventory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker import names
from hvdocker.cluster.plan.addresses import moved_worker_problem
from hvdocker.env import Env
from hvdocker.errors import HvdockerError
from hvdocker.images.default_image import with_default_image
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located
from hvdocker.jobs.job_container import newest_masters
from hvdocker.observe.cluster_image import with_image_of_workers
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.protocol.placement import Placement
from hvdocker.transport.session import connected


@dataclass(frozen=True)
class HostStatus:
    """The status of one host. `host` is the name or address in the inventory by which the host is reached.

    `seen` is None if the host could not be observed. `worker` is None if the host has no worker or could not be
    observed. `error` says why the host could not be observed, or that it no longer has the address of its worker.
    `is_left_out`: the cluster was made for some slots only, and none of these is on this host."""

    name: str
    host: str
    worker: ContainerSeen | None = None
    seen: HostSeen | None = None
    error: HvdockerError | None = None
    # The cluster was made for some slots only, and none of them is on this host.
    is_left_out: bool = False

    @property
    def state(self) -> str:
        if self.error:
            return "unreachable" if self.error.exit_code == 4 else "unfit"
        if self.worker:
            return self.worker.state
        return "left out" if self.is_left_out else "no worker"


@dataclass(frozen=True)
class JobStatus:
    job: str
    state: str
    placement: Placement
    owner: str
    created: int
    # The number of ranks of a pool; None if there are as many as slots.
    ranks: int | None = None


@dataclass(frozen=True)
class StatusReport:
    inventory: Inventory
    hosts: tuple[HostStatus, ...]
    jobs: tuple[JobStatus, ...]

    @property
    def errors(self) -> list[HvdockerError]:
        return [host.error for host in self.hosts if host.error]

    @property
    def is_up(self) -> bool:
        """Whether no host has an error, and every host that is not left out has a running worker."""
        return all(host.state in ("running", "left out") for host in self.hosts)

    def as_json(self) -> Mapping[str, object]:
        return {
            "cluster": self.inventory.cluster,
            "image": self.inventory.image,
            "hosts": [
                {
                    "name": host.name,
                    "host": host.host,
                    "state": host.state,
                    "address": host.worker.labels.get(names.LABEL_ADDRESS) if host.worker else None,
                    "port": int(host.worker.labels.get(names.LABEL_PORT, 0)) if host.worker else None,
                    "slots": int(host.worker.labels.get(names.LABEL_SLOTS, 0)) if host.worker else None,
                    "engine": host.seen.engine.version if host.seen else None,
                    "error": str(host.error) if host.error else None,
                }
                for host in self.hosts
            ],
            "jobs": [
                {
                    "job": job.job,
                    "state": job.state,
                    "owner": job.owner,
                    "created": job.created,
                    "placement": {share.host: share.slots for share in job.placement.shares},
                }
                for job in self.jobs
            ],
        }


def status(env: Env, located: Located) -> StatusReport:
    """Observe all hosts and return their status. A host that cannot be observed is reported with its error."""
    with connected(env, located, must_all=False) as session:
        inventory = with_default_image(located, session).inventory
        from hvdocker.observe.hosts import cluster_state, observe_hosts
        from hvdocker.placement.scope import is_complete

        outcomes = observe_hosts(inventory, session.links)
        state = cluster_state(inventory, outcomes.done, with_images=False)
        inventory = with_image_of_workers(inventory, state)
        failed = {**_moved_workers(inventory, state), **session.failed, **outcomes.failed}
        workers = state.workers()
        has_all = is_complete(inventory, state)
        return StatusReport(
            inventory,
            tuple(
                HostStatus(
                    host.name,
                    host.host,
                    workers.get(host.name),
                    state.hosts.get(host.name),
                    failed.get(host.name),
                    is_left_out=has_all and host.name not in workers,
                )
                for host in inventory.hosts
            ),
            tuple(_job_status(master, state.placement_of(master)) for master in newest_masters(state).values()),
        )


def _moved_workers(inventory: Inventory, state: ClusterState) -> dict[str, HvdockerError]:
    """Return, by host, the error of each worker whose address its host no longer has."""
    found = {
        name: moved_worker_problem(inventory.named(name), seen, "hvdocker up") for name, seen in state.hosts.items()
    }
    return {name: problem for name, problem in found.items() if problem}


def _job_status(master: ContainerSeen, placement: Placement) -> JobStatus:
    return JobStatus(
        job=master.job,
        state="running" if master.is_running else "ended" if master.state == "exited" else master.state,
        placement=placement,
        owner=master.labels.get(names.LABEL_OWNER, "?"),
        created=master.created,
        ranks=master.ranks,
    )
