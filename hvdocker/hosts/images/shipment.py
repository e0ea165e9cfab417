"""One image on its way to several hosts: who lacks what, whether it fits, and how it gets there."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from docker import APIClient

from hvdocker.commands import feed
from hvdocker.commands.image_parts import ImageContent
from hvdocker.errors import HostUnfit, HvdockerError, raise_together
from hvdocker.hosts.images.cache import LayerCache, own_cache
from hvdocker.hosts.images.collect import collect, layers_of
from hvdocker.hosts.images.load import Present, forget_parts, load, present, settle
from hvdocker.hosts.images.swarm import Member, Swarm, is_worth_it
from hvdocker.hosts.link import HostLink
from hvdocker.hosts.pool import each
from hvdocker.model.inventory import Inventory
from hvdocker.model.units import show_bytes

# What the engine's own copy of a part takes beside the layers, roughly.
_SPARE = 1.05

# Text, host, bytes done, bytes in all. Raises where the whole work was interrupted.
Say = Callable[[str, str, int, int], None]


@dataclass(frozen=True)
class Errand:
    """What a shipment is told: which image, from which engine, over which links."""

    inventory: Inventory
    reference: str
    source: str
    engine: APIClient
    links: Mapping[str, HostLink]
    say: Say


@dataclass(frozen=True)
class Shipment:
    errand: Errand
    image: ImageContent
    members: Mapping[str, Member]
    cache: LayerCache
    swarm: Swarm | None

    def deliver(self, host: str) -> None:
        """Ends with the very same image there, or with an error and nothing half-done; where the connection
        broke, finished parts stay, and the next try goes on from them."""
        engine = self.members[host].link.engine()
        try:
            self._deliver(host, engine)
        except HvdockerError:
            with contextlib.suppress(Exception):  # the first error is the one to tell
                forget_parts(engine)
            raise

    def _deliver(self, host: str, engine: APIClient) -> None:
        if self.swarm and self.swarm.deliver(host):
            settle(engine, self.image)
            return
        has = present(engine, tuple(layer.digest for layer in self.image.layers))
        total = sum(layer.size for layer in has.lacks(self.image))

        def sent(done: int) -> None:
            self.errand.say("", host, min(done, total), total)

        load(engine, self.image, has.parts(self.image), self.cache, sent)


@contextmanager
def shipping(errand: Errand) -> Iterator[Shipment]:
    """Looks at all hosts, reads what has to travel out of the source once, checks the disks."""
    cache = own_cache()
    chain = layers_of(errand.engine, errand.reference)
    members = each(errand.links, lambda name: _look(errand, name, chain)).or_raise("looking at images failed")
    needed = {digest for member in members.values() for digest in _needed(chain, member.present)}

    def read(done: int) -> None:
        errand.say("reading", errand.source, done, 0)

    image = collect(errand.engine, errand.reference, needed, cache, read)
    raise_together("some hosts have too little disk", _full_disks(image, members))
    able = [members[name] for name in errand.links if members[name].ability.has_tools]
    try:
        with _swarm(errand, able, image, cache) as swarm:
            yield Shipment(errand, image, members, cache, swarm)
    finally:
        cache.trim(spare=[image.digest])


@contextmanager
def _swarm(
    errand: Errand, able: list[Member], image: ImageContent, cache: LayerCache
) -> Iterator[Swarm | None]:
    if not is_worth_it(able, image):
        yield None
        return

    def tell(host: str, done: int, total: int, source: str) -> None:
        errand.say(source, host, done, total)

    with Swarm(able, image, cache, tell) as swarm:
        yield swarm


def _needed(chain: tuple[str, ...], has: Present) -> tuple[str, ...]:
    return chain if has.is_containerd else chain[has.count :]


def _look(errand: Errand, name: str, chain: tuple[str, ...]) -> Member:
    link = errand.links[name]
    engine = link.engine()
    root = engine.info().get("DockerRootDir", "/var/lib/docker")
    able = feed.read_ability(link.run(feed.ability(root)).text)
    docker = "sudo -n docker" if getattr(link, "needs_sudo", False) else "docker"
    return Member(name, link, present(engine, chain), able, _address(errand.inventory, name, able), docker)


def _address(inventory: Inventory, name: str, able: feed.Ability) -> str:
    """By which other hosts reach it: the training network's, where one is named."""
    given = inventory.named(name).address
    if given:
        return given
    if inventory.network:
        network = ipaddress.ip_network(inventory.network, strict=False)
        for address in able.addresses:
            if ipaddress.ip_address(address) in network:
                return address
    return able.address


def _full_disks(image: ImageContent, members: Mapping[str, Member]) -> list[HvdockerError]:
    errors: list[HvdockerError] = []
    for name, member in members.items():
        parts = member.present.parts(image)
        needs = int(sum(part.size for part in parts) * _SPARE) + max(part.size for part in parts)
        free = member.ability.disk_bytes
        if free is not None and free < needs:
            errors.append(
                HostUnfit(
                    f"the image needs about {show_bytes(needs)} of disk, {show_bytes(free)} are free",
                    host=name,
                    command="df -h /var/lib/docker",
                    fix="free some space: docker system prune",
                )
            )
    return errors
