"""Judges what a host has of this cluster (image, worker, code, leftovers) and the host's lock. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from hvdocker import names
from hvdocker.cluster.plan import up as up_plan
from hvdocker.doctor.facts.facts import CodeSeen, EngineState, HostFacts, MachineSeen
from hvdocker.doctor.judges.finding import bad, error_finding, good, unknown, warn
from hvdocker.doctor.report import Finding
from hvdocker.errors import HvdockerError
from hvdocker.images.plan import plan_image
from hvdocker.images.targets import from_command
from hvdocker.inventory.inventory import Inventory
from hvdocker.locks.holder import Holder
from hvdocker.names import Maker
from hvdocker.observe.state import ClusterState, ContainerSeen, HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.units import pluralize, show_bytes

MOST_NAMED = 10


def judge_image(inventory: Inventory, seen: HostSeen, push: str) -> Finding:
    if seen.image is None:
        return unknown("image", "not there yet", [f"{inventory.image} is not on this host"],
                       shlex.join(("docker", "image", "inspect", inventory.image)), push)  # fmt: skip
    if not seen.image.is_ours:
        evidence = [f"it has no label {names.LABEL_IMAGE}: sshd and the rank wrapper are missing"]
        fix = from_command(inventory.image)
        command = shlex.join(("docker", "image", "inspect", inventory.image))
        return bad("image", f"{inventory.image} is not made for hvdocker", evidence, command, fix)
    return good("image", f"{short(seen.image.content)}, {show_bytes(seen.image.size_bytes)}")


def short(content: str) -> str:
    return content.removeprefix("sha256:")[:12]


def judge_worker(
    worker: ContainerSeen | None,
    is_up: bool,
    why_new: str | None,
    up_command: str,
    foreign_container: str | None = None,
) -> Finding:
    """Judge a host's worker. `worker` is None if the host has none, which is BAD only if `is_up`.

    `is_up`: the cluster should have a worker on this host. `why_new`: why `up` would replace the worker, or
    None. `up_command` is the command that findings suggest as the fix. `foreign_container` is the name of a container
    that has the worker's name but does not belong to this cluster, or None. Without a worker a stranger is BAD, because
    no worker can be created beside it."""
    if worker is None and foreign_container:
        evidence = [f"{foreign_container} has no label of this cluster: hvdocker did not make it, and leaves it alone"]
        other = shlex.join(("docker", "rename", foreign_container, f"{foreign_container}-old"))
        fix = f"on the host: {other} (or give the cluster another name)"
        return bad("worker", "another container has its name", evidence, "docker ps -a", fix)
    if worker is None:
        if not is_up:
            return good("worker", "not up")
        return bad(
            "worker", "none", ["other hosts of the cluster have one, and `train` needs all of them"], fix=up_command
        )
    if not worker.is_running:
        return bad(
            "worker", f"it is {worker.state}", [worker.name], shlex.join(("docker", "logs", worker.name)), up_command
        )
    if why_new:
        return warn("worker", f"`up` would replace it: {why_new}", [worker.name], fix=up_command)
    return good("worker", "running")


def why_replaced(
    inventory: Inventory,
    state: ClusterState,
    host_plans: Mapping[str, HostPlan],
    maker: Maker,
    user_key: str | None = None,
) -> dict[str, str]:
    """Return, by host, why `up` would replace the worker. Hosts whose worker stays are left out.

    `host_plans` has the host plans, and `maker` the owner and version for the labels of workers. `user_key` is
    the public half of the user's own key, if any. The result is empty if the image cannot be determined, because
    another finding reports that."""
    workers = {name: worker for name, worker in state.workers().items() if name in host_plans}
    if not workers:
        return {}
    try:
        image = plan_image(inventory, state, host_plans)
    except HvdockerError:
        return {}
    found = {
        name: up_plan.why_worker_needed(inventory, host_plans[name], maker, worker, image, user_key)
        for name, worker in workers.items()
    }
    kept = [name for name, reason in found.items() if reason is None]
    found |= dict.fromkeys(kept, up_plan.why_keys_differ([workers[name] for name in kept]))
    return {name: reason for name, reason in found.items() if reason}


def judge_code(code: CodeSeen, retrain: str) -> Finding:
    if code.edited:
        shown = f"{pluralize(len(code.edited), 'file')} changed on the host since the last sync"
        # No BAD: the next `train` moves these files aside and puts the code of the controller in their place.
        return warn("code", shown, code.edited[:MOST_NAMED], fix=retrain)
    if code.is_unfinished:
        return warn("code", "a sync was cut off", ["some files are newer than others"], fix=retrain)
    return good("code", f"{code.hash[:12]}, {pluralize(code.files, 'file')}" if code.hash else "none yet")


def judge_leftovers(
    inventory: Inventory, health: HostFacts, down_command: str, inventory_flag: str
) -> Iterator[Finding]:
    """Judge what earlier hvdocker commands left behind on the host, and a lock that is held.

    `health` has the facts of the host. Other clusters on the host are named, but are no leftovers. `down_command` is
    the command that findings suggest as the fix. `inventory_flag` (` -i FILE`) is added to suggested `hvdocker lock`
    commands. Nothing is yielded if the facts could not be gathered."""
    engine, machine, seen = health.engine, health.machine, health.seen
    if engine is None or machine is None or seen is None:
        return
    lines = [*_containers(inventory, engine), *_traces(machine, engine, seen)]
    if lines:
        yield warn("leftovers", pluralize(len(lines), "thing") + " left behind", lines, "docker ps -a", down_command)
    else:
        yield good("leftovers", "; ".join(["none", *_neighbours(inventory, engine)]))
    if health.lock_error is not None:
        yield error_finding("lock", health.lock_error)
    elif health.lock is not None:
        yield _judge_lock(health.lock, inventory_flag)


def _judge_lock(holder: Holder, inventory_flag: str) -> Finding:
    status, release = (f"hvdocker lock {verb}{inventory_flag}" for verb in ("status", "release"))
    line = f"{holder.who} is running {holder.doing}, since {holder.since}"
    if holder.is_stale:
        lines = [line, f"its last sign of life was {holder.age_s} s ago: the next run takes it over"]
        return warn("lock", "a lock was left behind", lines, status, release)
    wait = f"wait for them, or add --lock-wait 60; if that run is dead and its owner agrees: {release} --force"
    return warn("lock", "someone is at work there", [line], status, wait)


def _containers(inventory: Inventory, engine: EngineState) -> Iterator[str]:
    for container in engine.containers:
        if container.labels.get(names.LABEL_CLUSTER) != inventory.cluster:
            continue
        if container.role == names.ROLE_DOCTOR and not container.is_running:
            # A running one belongs to a doctor that runs now, and ends by itself.
            yield f"{container.name}: a container of an earlier doctor"
        elif container.role == names.ROLE_MASTER and container.state in ("created", "dead"):
            yield f"{container.name}: a job that never started ({container.state})"
        elif container.role == names.ROLE_WORKER and container.state in ("created", "dead"):
            yield f"{container.name}: a worker that never started ({container.state})"


def _traces(machine: MachineSeen, engine: EngineState, seen: HostSeen) -> Iterator[str]:
    if seen.cluster_dir and not any(container.role == names.ROLE_WORKER for container in seen.containers):
        yield f"{seen.cluster_dir}: a folder of this cluster, which has no worker here"
    for part in engine.incomplete_images:
        yield f"{part}: part of an image that was never sent whole (docker rmi {shlex.quote(part)})"
    for feed in machine.stale_feeds:
        yield f"{feed}: of an image that hosts passed on (rm -r {shlex.quote(feed)})"


def _neighbours(inventory: Inventory, engine: EngineState) -> Iterator[str]:
    """Yield texts about containers that are no leftovers: ended jobs, which are kept for their logs, and other
    clusters."""
    ended = [one for one in engine.containers if one.role == names.ROLE_MASTER and one.state == "exited"]
    own = sum(one.labels.get(names.LABEL_CLUSTER) == inventory.cluster for one in ended)
    if own:
        yield f"{pluralize(own, 'ended job')} kept for logs"
    others = {
        f"{labels.get(names.LABEL_CLUSTER)} of {labels.get(names.LABEL_OWNER, '?')}"
        for labels in (container.labels for container in engine.containers)
        if labels.get(names.LABEL_CLUSTER) != inventory.cluster
    }
    if others:
        yield f"also here: {', '.join(sorted(others))}"
