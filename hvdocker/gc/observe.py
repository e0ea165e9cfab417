"""Looks for leftovers on the hosts. Changes nothing, except that it may remove dead tickets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from docker import APIClient

from hvdocker import names
from hvdocker.errors import HostUnfit
from hvdocker.gc.commands import list_leftovers, read_leftovers
from hvdocker.gc.leftovers import HostLeftovers, UnusedImage
from hvdocker.images.ship.part_tags import stale_parts
from hvdocker.images.ship.resumable_parts import LABEL_PART
from hvdocker.locks.held_ticket import read_queue
from hvdocker.observe.engine import see_containers
from hvdocker.observe.hosts import find_engine
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import HostOutcomes, for_each_host

TIMEOUT_S = 60.0
_UNTAGGED = "<none>:<none>"


def find_leftovers(
    links: Mapping[str, HostLink], with_images: bool, removes_dead_tickets: bool
) -> HostOutcomes[HostLeftovers]:
    """Look for leftovers on all hosts at once. Hosts that cannot be asked are in `failed` of the result.

    With `with_images`, unused images are looked for too. With `removes_dead_tickets`, dead tickets are removed while
    the live tickets are listed."""
    return for_each_host(links, lambda name: _see(links[name], with_images, removes_dead_tickets))


def _see(link: HostLink, with_images: bool, removes_dead_tickets: bool) -> HostLeftovers:
    with translating_errors(link.name, "looking for what is left"):
        find_engine(link)
        # List containers before tickets: a client writes its ticket before it creates containers, so that no
        # container of a live client is seen without its ticket.
        containers = see_containers(link.engine())
        result = link.run(list_leftovers(link.name), timeout_s=TIMEOUT_S)
        found = read_leftovers(result.text)
        if found is None:
            raise HostUnfit(
                "the host could not be looked at: its shell did not run our script",
                host=link.name,
                lines=result.tail(),
                fix="a POSIX sh has to be on the PATH",
            )
        # Read only the tickets on this host, whichever host has the queue.
        tickets = read_queue({link.name: link}, {link.name: ("", "")}, removes_dead_tickets)
        return HostLeftovers(
            containers=containers,
            live_tokens=frozenset(ticket.token for ticket in tickets),
            folders=found[0],
            feeds=found[1],
            parts=tuple(stale_parts(link.engine())),
            images=tuple(_unused_images(link.engine())) if with_images else (),
        )


def _unused_images(engine: APIClient) -> Iterable[UnusedImage]:
    used = {entry["ImageID"] for entry in engine.containers(all=True)}
    for image in engine.images(filters={"label": names.LABEL_IMAGE}):
        if image["Id"] not in used and LABEL_PART not in (image.get("Labels") or {}):
            for name in _own_names(image):
                yield UnusedImage(name, int(image.get("Size", 0)))


def _own_names(image: Mapping[str, Any]) -> list[str]:
    """Return the names by which `gc` may remove an image with hvdocker's label.

    These are its tags that begin with one of `names.OWN_IMAGE_PREFIXES`, or its id if it has no tag at all. Other tags,
    also those of `image build --from`, are left out, because they may be a user's: an image that a user builds from an
    hvdocker image inherits the label. Values of `image` are `Any` because they come from the engine's JSON."""
    tags = [tag for tag in image.get("RepoTags") or () if tag != _UNTAGGED]
    ours = [tag for tag in tags if tag.startswith(names.OWN_IMAGE_PREFIXES)]
    return ours if tags else [str(image["Id"])]
