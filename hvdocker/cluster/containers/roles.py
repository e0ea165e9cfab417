"""Specifies the containers of a cluster: workers, and the short-lived ones of the doctor. Pure.

The master of a job is specified in training/plan/master_container.py."""

from __future__ import annotations

from hvdocker import names
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.inventory.inventory import Inventory
from hvdocker.names import Maker
from hvdocker.observe.state import HostSeen
from hvdocker.placement.host_plan import HostPlan
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
        **base_labels(inventory, place, maker, names.ROLE_WORKER),
        **device_labels(place.devices),
        names.LABEL_ADDRESS: place.address,
        names.LABEL_PORT: str(place.port),
        names.LABEL_SLOTS: str(place.slots),
    }
    if place.request_label:
        labels[names.LABEL_ASKED] = place.request_label
    if inventory.forced_image:
        labels[names.LABEL_IMAGE_NAME] = inventory.forced_image
    return ContainerSpec(
        name=place.worker_name,
        image=inventory.image,
        command=("worker",),
        uid=place.uid,
        gid=place.gid,
        network=names.network_name(inventory.cluster) if place.host.is_local else "host",
        address=place.address if place.host.is_local else None,
        groups=place.groups,
        hostname=place.container_hostname,
        hostname_address=place.address if place.container_hostname else None,
        binds=binds(inventory, place),
        labels=labels,
        devices=place.devices,
        shm_bytes=shm_bytes(inventory, place),
        memory_bytes=inventory.memory_bytes,
        cpus=inventory.cpus,
        restart="unless-stopped",
    )


def doctor_spec(inventory: Inventory, place: HostPlan, maker: Maker, has_sshd: bool, seconds: int) -> ContainerSpec:
    """Return the specification of a container in which `doctor` runs checks.

    It is like a worker, but has no mounts and no GPUs, and ends by itself after `seconds`. With `has_sshd` it runs
    sshd on the worker port. Otherwise the container only sleeps, because another process on the host, perhaps the
    cluster's worker, has the port. `place` is the host's plan. The container's labels name the owner and version in
    `maker`."""
    waiting = (names.IMAGE_ENTRYPOINT[0], "worker") if has_sshd else ("sleep", str(seconds))
    return ContainerSpec(
        name=names.doctor_name(inventory.cluster),
        image=inventory.image,
        command=("timeout", str(seconds), *waiting),
        uid=place.uid,
        gid=place.gid,
        labels=base_labels(inventory, place, maker, names.ROLE_DOCTOR),
        stop_timeout_s=1,
    )


def base_labels(inventory: Inventory, place: HostPlan, maker: Maker, role: str) -> dict[str, str]:
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


def device_labels(devices: tuple[str, ...]) -> dict[str, str]:
    return {names.LABEL_GPUS: ",".join(devices)} if devices else {}


def binds(inventory: Inventory, place: HostPlan) -> tuple[str, ...]:
    own = (f"{place.folder}/code:{names.CODE_MOUNT}", f"{place.folder}/jobs:{names.JOBS_MOUNT}")
    return (*own, *(mount.bind() for mount in inventory.mounts))


def shm_bytes(inventory: Inventory, place: HostPlan) -> int:
    """Return the size of a container's /dev/shm in bytes. It is the inventory's `shm:` if that is set.

    Otherwise it is half of the memory of the host in `place`. Workers of a local cluster share this half equally. The
    size is limited to 16 GiB and rounded down to a multiple of 64 MiB, but is at least 64 MiB. The reason for rounding
    is that the memory that a kernel reports changes a little between boots, and this must not change the container's
    fingerprint."""
    if inventory.shm_bytes:
        return inventory.shm_bytes
    half = place.seen.engine.memory_bytes // (2 * place.workers_on_machine)
    return min(half, MOST_SHM) >> 26 << 26 or 64 << 20
