"""The containers of a cluster: a worker per host, and a master per job on its head."""

from __future__ import annotations

from hvdocker import names
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.inventory.inventory import Inventory
from hvdocker.names import Maker
from hvdocker.observe.state import HostSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.protocol.job import STOP_S, JobSpec
from hvdocker.units import GIB

MOST_SHM = 16 * GIB


def user_ids(inventory: Inventory, seen: HostSeen) -> tuple[int, int]:
    if inventory.user == "host":
        return seen.uid, seen.gid
    if inventory.user == "root":
        return 0, 0
    uid, _, gid = inventory.user.partition(":")
    return int(uid), int(gid)


def worker_spec(inventory: Inventory, place: HostPlan, maker: Maker) -> ContainerSpec:
    labels = {
        **_labels(inventory, place, maker, names.ROLE_WORKER),
        **_held(place.devices),
        names.LABEL_ADDRESS: place.address,
        names.LABEL_PORT: str(place.port),
        names.LABEL_SLOTS: str(place.slots),
    }
    if place.asked:
        labels[names.LABEL_ASKED] = place.asked
    return ContainerSpec(
        name=place.worker_name,
        image=inventory.image,
        command=("worker",),
        uid=place.uid,
        gid=place.gid,
        network=names.network_name(inventory.cluster) if place.host.is_local else "host",
        address=place.address if place.host.is_local else None,
        binds=_binds(inventory, place),
        labels=labels,
        devices=place.devices,
        shm_bytes=_shm(inventory, place),
        memory_bytes=inventory.memory_bytes,
        cpus=inventory.cpus,
        restart="unless-stopped",
    )


def master_spec(inventory: Inventory, place: HostPlan, maker: Maker, job: JobSpec) -> ContainerSpec:
    devices = job.placement.devices_on(place.name)
    labels = {
        **_labels(inventory, place, maker, names.ROLE_MASTER),
        **_held(devices),
        names.LABEL_JOB: job.job,
        names.LABEL_PLACEMENT: job.placement.label(),
    }
    if job.script:
        labels[names.LABEL_SCRIPT] = job.script
    if elastic := job.endurance.elastic:
        labels[names.LABEL_ELASTIC] = f"{elastic.min_np}:{elastic.max_np or ''}"
    if job.secrets:
        labels[names.LABEL_SECRETS] = ",".join(secret.name for secret in job.secrets)
    return ContainerSpec(
        name=names.master_name(inventory.cluster, job.job),
        image=inventory.image,
        command=("master", job.job),
        uid=place.uid,
        gid=place.gid,
        # On a bridge the master lives in its head's network, so that it has the head's address.
        network=f"container:{place.worker_name}" if place.host.is_local else "host",
        binds=_binds(inventory, place),
        labels=labels,
        devices=devices,
        shm_bytes=_shm(inventory, place),
        memory_bytes=inventory.memory_bytes,
        cpus=inventory.cpus,
        stop_timeout_s=STOP_S,
    )


def doctor_spec(
    inventory: Inventory, place: HostPlan, maker: Maker, has_sshd: bool, seconds: int
) -> ContainerSpec:
    """As a worker, but it holds nothing of the host's and ends by itself after the time. Without `has_sshd`
    it only waits: somebody has the worker port."""
    waiting = (names.IMAGE_ENTRYPOINT[0], "worker") if has_sshd else ("sleep", str(seconds))
    return ContainerSpec(
        name=names.doctor_name(inventory.cluster),
        image=inventory.image,
        command=("timeout", str(seconds), *waiting),
        uid=place.uid,
        gid=place.gid,
        labels=_labels(inventory, place, maker, names.ROLE_DOCTOR),
        stop_timeout_s=1,
    )


def _labels(inventory: Inventory, place: HostPlan, maker: Maker, role: str) -> dict[str, str]:
    labels = {
        names.LABEL_CLUSTER: inventory.cluster,
        names.LABEL_HOST: place.name,
        names.LABEL_ROLE: role,
        names.LABEL_OWNER: maker.owner,
        names.LABEL_VERSION: maker.version,
    }
    if maker.run:
        labels[names.LABEL_RUN] = maker.run
    return labels


def _held(devices: tuple[str, ...]) -> dict[str, str]:
    return {names.LABEL_GPUS: ",".join(devices)} if devices else {}


def _binds(inventory: Inventory, place: HostPlan) -> tuple[str, ...]:
    own = (f"{place.folder}/code:{names.CODE_MOUNT}", f"{place.folder}/jobs:{names.JOBS_MOUNT}")
    return (*own, *(mount.bind() for mount in inventory.mounts))


def _shm(inventory: Inventory, place: HostPlan) -> int:
    """Half of the memory, at most 16 GB; workers that share a machine share that half. Rounded down to
    whole mebibytes, because the memory a kernel reports moves a little between boots."""
    if inventory.shm_bytes:
        return inventory.shm_bytes
    half = place.seen.engine.memory_bytes // (2 * place.sharing)
    return min(half, MOST_SHM) >> 26 << 26 or 64 << 20
