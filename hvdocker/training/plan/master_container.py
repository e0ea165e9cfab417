"""The specification of a job's master container. Pure."""

from __future__ import annotations

from hvdocker import names
from hvdocker.cluster.containers.roles import base_labels, binds, device_labels, shm_bytes
from hvdocker.engine.container_spec import ContainerSpec
from hvdocker.inventory.inventory import Inventory
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.names import Maker
from hvdocker.placement.host_plan import HostPlan
from hvdocker.protocol.job_file import STOP_S
from hvdocker.training.plan.master_port import port_count, ports_label


def master_spec(inventory: Inventory, place: HostPlan, maker: Maker, job: JobSpec) -> ContainerSpec:
    devices = job.placement.devices_on(place.name)
    labels = {
        **base_labels(inventory, place, maker, names.ROLE_MASTER),
        **device_labels(devices),
        names.LABEL_JOB: job.job,
        names.LABEL_PLACEMENT: job.placement.label(),
        names.LABEL_LAUNCHER: job.launcher.name,
        names.LABEL_MASTER_PORT: ports_label(job.master_port, port_count(job.placement)),
    }
    if job.np and job.np != job.placement.np:
        labels[names.LABEL_RANKS] = str(job.np)
    if job.script:
        labels[names.LABEL_SCRIPT] = job.script
    if elastic := job.resilience.elastic:
        labels[names.LABEL_ELASTIC] = f"{elastic.min_np}:{elastic.max_np or ''}"
    if job.secrets:
        labels[names.LABEL_SECRETS] = ",".join(secret.name for secret in job.secrets)
    return ContainerSpec(
        name=names.master_name(inventory.cluster, job.job),
        image=inventory.image,
        command=("master", job.job),
        uid=place.uid,
        gid=place.gid,
        # In a local cluster the master shares the network namespace of its head's worker: the head's ranks
        # run in the master and need the head's address, as on real hosts.
        network=f"container:{place.worker_name}" if place.host.is_local else "host",
        groups=place.groups,
        hostname=place.container_hostname,
        hostname_address=place.address if place.container_hostname else None,
        binds=binds(inventory, place),
        labels=labels,
        devices=devices,
        shm_bytes=shm_bytes(inventory, place),
        memory_bytes=inventory.memory_bytes,
        cpus=inventory.cpus,
        stop_timeout_s=STOP_S,
    )
