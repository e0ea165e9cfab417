"""Starts and removes probe containers, in which the doctor's pair checks run if the cluster is not up.

A probe container is a short-lived container of the training image with SSH keys of its own. It is made like a worker,
but without mounts, and runs under `timeout`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from docker import APIClient

from hvdocker import assets, names
from hvdocker.cluster.containers.files import trust_files, worker_files
from hvdocker.cluster.containers.ssh_files import ClusterMember
from hvdocker.engine import archive
from hvdocker.engine.container_spec import ContainerSpec, create_body
from hvdocker.engine.file_spec import FileSpec, user_name
from hvdocker.errors import HostUnfit
from hvdocker.observe.clock import clock, read_clock
from hvdocker.observe.state import ContainerSeen
from hvdocker.placement.host_plan import HostPlan
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink
from hvdocker.transport.ssh import key_pairs

# Older probe containers count as leftovers. They end by themselves after LIFE_S of examine.py, which is shorter. With
# `--deep` on more than 80 hosts they may live longer than this.
STALE_AFTER_S = 600


@dataclass(frozen=True)
class ProbeKeys:
    """SSH keys for one examination of all pairs.

    `client` is the key with which all probe containers log in. `hosts` has their host keys, by host. `trust` are the
    files that make the containers trust each other."""

    client: key_pairs.SshKeyPair
    hosts: dict[str, key_pairs.SshKeyPair]
    trust: tuple[FileSpec, ...]


def make_probe_keys(cluster: str, places: Iterable[HostPlan], port: int) -> ProbeKeys:
    """Make one client key for all probe containers and one host key for each host.

    `places` are the plans of the hosts. `port` is the port of the containers' sshd."""
    places = list(places)
    client, pairs = key_pairs.make_pair(), {place.name: key_pairs.make_pair() for place in places}
    members = [ClusterMember(place.name, place.address, user_name(place.uid)) for place in places]
    publics = {name: pair.public for name, pair in pairs.items()}
    template = assets.ssh_config_template()
    trust = trust_files(template, cluster, members, port, publics, client.public)
    return ProbeKeys(client, pairs, tuple(trust))


def start_probe_container(
    link: HostLink, spec: ContainerSpec, place: HostPlan, probe_keys: ProbeKeys, tell: Callable[[str], None]
) -> None:
    """Create and start the probe container `spec`. `place` is the plan of its host, and `probe_keys` has its keys.

    `tell` is called with the container's id as soon as the container exists, so that the caller can remove it after any
    failure. The engine removes the container when it ends (AutoRemove). So after Ctrl-C, or if the controller dies, the
    container does not stay for long."""
    with translating_errors(link.name, "starting a container for the checks"):
        engine = link.engine()
        body = create_body(spec, {})
        body["HostConfig"]["AutoRemove"] = True
        made: str = engine.create_container_from_config(body, spec.name)["Id"]
        tell(made)
        files = worker_files(
            probe_keys.trust,
            probe_keys.client.private.reveal(),
            probe_keys.hosts[place.name].private.reveal(),
            place.address,
            place.port,
            spec.uid,
            passwd=None,
        )
        passwd = archive.read_text(engine, made, "/etc/passwd") or ""
        archive.put_initial_files(engine, made, files, spec.uid, spec.gid, passwd)
        engine.start(made)


def remove_stale_probe_container(link: HostLink, name: str, seen: Iterable[ContainerSeen]) -> None:
    """Remove a probe container of this name that an earlier doctor left behind. Do nothing if there is none.

    `seen` are the observed containers of the host. Raises HostUnfit if the container runs and is younger than
    STALE_AFTER_S, because it seems to belong to a doctor that runs now."""
    for container in seen:
        if container.role != names.ROLE_DOCTOR or container.name != name:
            continue
        # The age is taken by the host's clock, which may differ from the controller's.
        if container.is_running and _host_time(link) - container.created < STALE_AFTER_S:
            raise HostUnfit(
                f"another doctor is at work here: {container.name}",
                host=link.name,
                fix=f"run it again in a few minutes, or end the other: docker rm -f {container.name}",
            )
        remove_probe_container(link, container.id)


def _host_time(link: HostLink) -> float:
    return read_clock(link.run(clock()).text) or 0.0


def remove_probe_container(link: HostLink, container: str) -> None:
    """Remove the container by name or id. It is no error if the container is already gone."""
    with translating_errors(link.name, f"removing {container}"):
        _remove(link.engine(), container)


def _remove(engine: APIClient, container: str) -> None:
    from docker.errors import APIError

    try:
        engine.remove_container(container, force=True, v=True)
    except APIError as error:
        # 404: already gone. 409: the engine is removing it, because it has just ended.
        if error.status_code not in (404, 409):
            raise
