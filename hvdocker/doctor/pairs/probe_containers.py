"""Containers in which the doctor's checks run: the cluster's workers, or short-lived ones of the training
image with keys of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from docker import APIClient

from hvdocker import assets, names
from hvdocker.cluster.containers.files import trust_files, worker_files
from hvdocker.cluster.containers.ssh_files import Member
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

# Long after each would have ended by itself.
LEFT_BEHIND_S = 600


@dataclass(frozen=True)
class ProbeKeys:
    """Keys for the length of one examination, and the files that make all stations trust each other."""

    client: key_pairs.Pair
    hosts: dict[str, key_pairs.Pair]
    trust: tuple[FileSpec, ...]


def make_probe_keys(cluster: str, places: Iterable[HostPlan], port: int) -> ProbeKeys:
    places = list(places)
    client, pairs = key_pairs.make_pair(), {place.name: key_pairs.make_pair() for place in places}
    members = [Member(place.name, place.address, user_name(place.uid)) for place in places]
    publics = {name: pair.public for name, pair in pairs.items()}
    template = assets.ssh_config_template()
    trust = trust_files(template, cluster, members, port, publics, client.public)
    return ProbeKeys(client, pairs, tuple(trust))


def open_probe_container(
    link: HostLink, spec: ContainerSpec, place: HostPlan, passes: ProbeKeys, tell: Callable[[str], None]
) -> None:
    """`tell` hears the container's id as soon as there is something to remove. The engine removes the
    container when it ends, so that a laptop that dies leaves nothing for long."""
    with translating_errors(link.name, "starting a container for the checks"):
        engine = link.engine()
        body = create_body(spec, {})
        body["HostConfig"]["AutoRemove"] = True
        made: str = engine.create_container_from_config(body, spec.name)["Id"]
        tell(made)
        files = worker_files(
            passes.trust,
            passes.client.private.reveal(),
            passes.hosts[place.name].private.reveal(),
            place.address,
            place.port,
            spec.uid,
        )
        passwd = archive.read_text(engine, made, "/etc/passwd") or ""
        archive.furnish(engine, made, files, spec.uid, spec.gid, passwd)
        engine.start(made)


def clear_probe_container(link: HostLink, name: str, seen: Iterable[ContainerSeen]) -> None:
    """What an earlier doctor left under this name is removed; one that is at work is left alone, and told."""
    for container in seen:
        if container.role != names.ROLE_DOCTOR or container.name != name:
            continue
        # Its age by its own host's clock: ours may be another.
        if container.is_running and _time_there(link) - container.created < LEFT_BEHIND_S:
            raise HostUnfit(
                f"another doctor is at work here: {container.name}",
                host=link.name,
                fix=f"run it again in a few minutes, or end the other: docker rm -f {container.name}",
            )
        close_probe_container(link, container.id)


def _time_there(link: HostLink) -> float:
    return read_clock(link.run(clock()).text) or 0.0


def close_probe_container(link: HostLink, container: str) -> None:
    with translating_errors(link.name, f"removing {container}"):
        _remove(link.engine(), container)


def _remove(engine: APIClient, container: str) -> None:
    from docker.errors import APIError

    try:
        engine.remove_container(container, force=True, v=True)
    except APIError as error:
        # Gone, or going: it may have ended by itself just now.
        if error.status_code not in (404, 409):
            raise
