"""The verb `image ls`: lists the images of hvdocker and of the cluster on every engine. Changes nothing."""

from __future__ import annotations

from pathlib import Path

from docker import APIClient

from hvdocker.env import Env
from hvdocker.errors import NoCluster
from hvdocker.images.default_image import with_default_image
from hvdocker.images.image_list import ImageEntry, ImageList, is_listed
from hvdocker.inventory.locate import Located, locate
from hvdocker.observe.cluster_image import image_of_cluster
from hvdocker.observe.state import image_content
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.local_engine import local_engine
from hvdocker.transport.pool import for_each_host
from hvdocker.transport.session import connected

HERE = "here"


def list_images(env: Env, inventory: Path | None, accept_new_host_keys: bool = False) -> ImageList:
    """Return the tagged images of hvdocker and of the cluster, on the controller and on every host. Without an
    inventory, return those on the controller.

    `inventory` is the file that the user named, None to look for one. Hosts that do not answer become errors in the
    result."""
    try:
        located = locate(env, inventory)
    except NoCluster:
        if inventory:
            raise
        return ImageList(tuple(_here("")), (HERE,))
    return _list_hosts(env, located, accept_new_host_keys)


def _list_hosts(env: Env, located: Located, accept_new_host_keys: bool) -> ImageList:
    with connected(env, located, accept_new_host_keys, must_all=False) as session:
        from hvdocker.observe.hosts import observe_hosts

        inventory = with_default_image(located, session).inventory
        # All workers of a local cluster are on the controller's engine, whose images are listed below.
        links = dict(list(session.links.items())[:1]) if inventory.is_local else session.links
        # The observation finds out how the engine of each host is reached.
        seen = observe_hosts(inventory, links)
        image = image_of_cluster(inventory, (one for host in seen.done.values() for one in host.containers))

        def ask(name: str) -> list[ImageEntry]:
            with translating_errors(name, "looking at its images"):
                return _entries(session.links[name].engine(), name, image)

        asked = for_each_host(() if inventory.is_local else seen.done, ask)
    here = _here(image)
    failed = {**session.failed, **seen.failed, **asked.failed}
    entries = [*here, *(entry for name in asked.done for entry in asked.done[name])]
    # Only a local cluster needs the image here.
    is_here_listed = bool(here) or (inventory.is_local and bool(seen.done))
    hosts = (*([HERE] if is_here_listed else []), *asked.done)
    return ImageList(tuple(entries), hosts, image, tuple(failed.values()))


def _here(cluster_image: str) -> list[ImageEntry]:
    engine = local_engine().client
    if engine is None:
        return []
    try:
        return _entries(engine, HERE, cluster_image)
    finally:
        engine.close()


def _entries(engine: APIClient, host: str, cluster_image: str) -> list[ImageEntry]:
    found = []
    for listed in engine.images():
        labels = listed.get("Labels") or {}
        tags = [tag for tag in listed.get("RepoTags") or () if tag != "<none>:<none>"]
        if not is_listed(tags, labels, cluster_image):
            continue
        content = image_content(engine.inspect_image(listed["Id"]))
        found += [
            ImageEntry(host, tag, listed["Id"], content, listed.get("Size", 0), listed.get("Created", 0), labels)
            for tag in sorted(tags)
        ]
    return sorted(found, key=lambda entry: entry.name)
