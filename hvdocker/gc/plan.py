"""Finds dead runs (clusters whose `hvdocker run` is gone), and plans the removal of everything else that is no
longer used. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hvdocker import names
from hvdocker.cluster.steps import RemoveContainer, RemoveTree
from hvdocker.gc.leftovers import HostLeftovers
from hvdocker.images.steps import RemoveImage
from hvdocker.jobs.secrets.plan import has_unobserved_worker, steps_for_unstarted_job
from hvdocker.observe.state import ContainerSeen
from hvdocker.plan.plan import Plan, Step, plan_of


@dataclass(frozen=True)
class DeadRun:
    """A cluster that a `hvdocker run` made, and whose `hvdocker run` is gone. A job may still train in it.

    No host that has a container or folder of the run has a live ticket of its client (its `hvdocker run`). `owners`
    are the owners that these containers and folders name, `hosts` the hosts that have them."""

    cluster: str
    owners: tuple[str, ...]
    hosts: tuple[str, ...]

    def is_of(self, owner: str) -> bool:
        return self.owners == (owner,)


@dataclass
class _RunSeen:
    """What was observed of one cluster that a `hvdocker run` made. `owners` are the owners that its containers and
    folders name, `hosts` the hosts that have them. `is_live` says that the `hvdocker run` has a live ticket on one of
    the hosts."""

    owners: set[str]
    hosts: list[str]
    is_live: bool = False


def dead_runs(found: Mapping[str, HostLeftovers]) -> list[DeadRun]:
    """Return the clusters whose `hvdocker run` has no live ticket. `found` has the leftovers by host.

    Such clusters are found by container labels and run folders. The token in a label or folder is looked up only among
    the live tickets of the same host. That is enough, because a client keeps its tickets on the hosts of its
    containers. So the result does not depend on hosts that only another user's inventory has.
    One live ticket on one host keeps a run alive. A cluster that `run --keep` left counts as dead too."""
    traces: dict[str, _RunSeen] = {}
    for host, here in found.items():
        for cluster, token, owner in _runs_on_host(here):
            trace = traces.setdefault(cluster, _RunSeen(set(), []))
            trace.owners.add(owner)
            trace.is_live |= token in here.live_tokens
            if host not in trace.hosts:
                trace.hosts.append(host)
    return [
        DeadRun(cluster, tuple(sorted(trace.owners)), tuple(trace.hosts))
        for cluster, trace in traces.items()
        if not trace.is_live
    ]


def _runs_on_host(here: HostLeftovers) -> Iterator[tuple[str, str, str]]:
    """Yield (cluster, token, owner) of each container and cluster folder that a `hvdocker run` made on a host. The
    token identifies the `hvdocker run`. `here` has what the host has."""
    for container in here.containers:
        token, cluster = container.labels.get(names.LABEL_RUN), container.cluster
        # Labels are untrusted input: a cluster name that hvdocker cannot have made is ignored.
        if token and names.cluster_name_problem(cluster) is None:
            yield cluster, token, container.owner
    yield from ((folder.cluster, folder.token, folder.owner) for folder in here.folders)


def plan_other_leftovers(
    cluster: str, found: Mapping[str, HostLeftovers], taken: Sequence[str], owner: str | None, is_whole: bool = True
) -> Plan:
    """Plan the removal of everything unused that does not belong to a dead run. `found` has the leftovers by host.

    The leftovers of all clusters are removed; `cluster` is only the name in the plan. `taken` are the clusters of dead
    runs, which are removed as a whole elsewhere. Only containers of `owner` are removed; None means of all owners.
    Images are not checked for their owner. Feeds need no check, because `found` has only feeds of the SSH user.

    A master that was created but never started is removed: while `gc` holds the hosts' locks, no `train` can be about
    to start it. If not every host answered (`is_whole` is false), such a master stays if one of its workers was not
    observed: that worker may hold secrets of the job, and only the label of the master says so."""
    containers: list[Step] = []
    secrets: list[Step] = []
    seen = {host: here.containers for host, here in found.items()}
    seen_ids: set[str] = set()
    for host, here in found.items():
        for container in here.containers:
            why = _why_removable(container)
            is_taken = container.labels.get(names.LABEL_CLUSTER) in taken
            is_foreign = owner is not None and container.owner != owner
            is_needed = not is_whole and has_unobserved_worker(container, seen)
            if why and not (is_taken or is_foreign or is_needed or container.id in seen_ids):
                seen_ids.add(container.id)
                containers.append(RemoveContainer(host, container.name, container.id, why))
                secrets += steps_for_unstarted_job(container, seen)
    return plan_of(
        "gc",
        cluster,
        # Secrets go first: once the master is gone, no label says that workers have them.
        ("secrets", secrets),
        ("containers", containers),
        ("files", [RemoveTree(host, feed) for host, here in found.items() for feed in here.feeds]),
        ("images", [
            RemoveImage(host, part, "part of an image that was never sent whole")
            for host, here in found.items() for part in here.parts
        ]),
        ("images", [
            RemoveImage(host, image.reference, "no container uses it", image.size_bytes)
            for host, here in found.items() for image in here.images
        ]),
    )  # fmt: skip


def _why_removable(container: ContainerSeen) -> str | None:
    """Return the reason for which the container can be removed, as text for the plan. Return None if the container must
    stay."""
    if container.role == names.ROLE_MASTER and container.state in ("created", "dead"):
        return "a job that never started"
    if container.role == names.ROLE_DOCTOR and not container.is_running:
        return "of an earlier doctor"
    return None


def combined_plan(cluster: str, runs: Sequence[Plan], rest: Plan) -> Plan:
    """Return one plan for display: the plan of each dead run (`runs`), then the `rest`. `cluster` is the name of the
    inventory's cluster, which becomes the name in the plan."""
    return Plan("gc", cluster, tuple(stage for plan in (*runs, rest) for stage in plan.stages))
