"""Sends one image to several hosts: finds out what each lacks, checks the disks, and sends from the
controller or by fan-out."""

from __future__ import annotations

import contextlib
import ipaddress
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from docker import APIClient

from hvdocker.errors import HostUnfit, HvdockerError, raise_all
from hvdocker.images.fan_out.capabilities import FeedCapabilities, capabilities_command, parse_capabilities
from hvdocker.images.fan_out.fan_out import FanOut
from hvdocker.images.fan_out.feeders import FanOutHost, is_fan_out_worthwhile
from hvdocker.images.ship.cache import LayerCache, user_layer_cache
from hvdocker.images.ship.export import export_image, layer_digests
from hvdocker.images.ship.load import LayersGone, LayersPresent, find_layers_present, finish_load, load_image
from hvdocker.images.ship.part_tags import remove_parts
from hvdocker.images.ship.resumable_parts import ExportedImage
from hvdocker.inventory.inventory import Inventory
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import for_each_host
from hvdocker.units import show_bytes

# Text, host, bytes done, bytes in total. Raises where the run was interrupted.
ReportProgress = Callable[[str, str, int, int], None]


@dataclass(frozen=True)
class ShipmentRequest:
    """What to send: which image, from the engine of which host (`source`), over which links."""

    inventory: Inventory
    reference: str
    source: str
    engine: APIClient
    links: Mapping[str, HostLink]
    report_progress: ReportProgress

    def report_read(self, done: int) -> None:
        """Report how many bytes were read from the source; the total is unknown."""
        self.report_progress("reading", self.source, done, 0)


@dataclass(frozen=True)
class Shipment:
    """One image under way to `members`. `fan_out` is None where hosts do not pass layers on to each other.

    `failed` collects the hosts on which parts of the image may be left."""

    request: ShipmentRequest
    image: ExportedImage
    members: Mapping[str, FanOutHost]
    cache: LayerCache
    fan_out: FanOut | None
    failed: list[str] = field(default_factory=list)

    def deliver(self, host: str) -> None:
        """Bring exactly this image to the host, or raise.

        After an error `remove_failed_parts` removes its parts. Where the connection broke, finished parts
        stay on the host and the next try continues from them."""
        engine = self.members[host].link.engine()
        try:
            if self.fan_out and self.fan_out.deliver(host):
                finish_load(engine, self.image)
            else:
                self._send_from_controller(host, engine)
        except HvdockerError:
            self.failed.append(host)
            raise

    def _send_from_controller(self, host: str, engine: APIClient) -> None:
        try:
            self._send(host, engine)
        except LayersGone:
            # Another push may have removed layers that the engine had: look again, once.
            self._send(host, engine)

    def _send(self, host: str, engine: APIClient) -> None:
        has = find_layers_present(engine, tuple(layer.digest for layer in self.image.layers))
        image = self._with_cached_layers(has)
        total = sum(layer.size for layer in has.missing_layers(image))

        def sent(done: int) -> None:
            self.request.report_progress("", host, min(done, total), total)

        load_image(engine, image, has.parts(image), self.cache, sent)

    def _with_cached_layers(self, has: LayersPresent) -> ExportedImage:
        """Return the image with every layer that the host lacks in the cache.

        These may be more than when the shipment began; then the source is read again."""
        lacking = has.missing_layers(self.image)
        if all(layer.size and self.cache.size(layer.digest) for layer in lacking):
            return self.image
        needed = [layer.digest for layer in lacking]
        image = export_image(self.request.engine, self.request.reference, needed, self.cache, self.request.report_read)
        if image.digest != self.image.digest:
            what = f"{self.request.reference} on {self.request.source} was replaced while it was being sent"
            raise HvdockerError(what, fix="run the command again")
        return replace(image, sent_at=self.image.sent_at)

    def remove_failed_parts(self) -> None:
        """Remove the parts on the hosts that failed.

        Call it after the fan-out has stopped and no engine loads any more: later parts would stay."""

        def remove(name: str) -> None:
            with contextlib.suppress(Exception):  # the first error is the one to report
                remove_parts(self.members[name].link.engine(), self.image)

        for_each_host(self.failed, remove)


@contextmanager
def open_shipment(request: ShipmentRequest) -> Iterator[Shipment]:
    """Inspect all hosts, read the layers that any of them lacks from the source once, and check the disks.

    Disks are checked here and not in the plan, because only now is it known which layers are sent: a small
    change fits where the whole image would not."""
    cache = user_layer_cache()
    chain = layer_digests(request.engine, request.reference)
    members = for_each_host(request.links, lambda name: _inspect_host(request, name, chain)).or_raise(
        "looking at images failed"
    )
    needed = {digest for member in members.values() for digest in _missing_digests(chain, member.present)}
    began = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    image = replace(export_image(request.engine, request.reference, needed, cache, request.report_read), sent_at=began)
    raise_all("some hosts have too little disk", _disk_errors(image, members))
    able = [members[name] for name in request.links if members[name].ability.has_tools]
    shipment = Shipment(request, image, members, cache, None)
    try:
        with _open_fan_out(request, able, image, cache) as fan_out:
            yield replace(shipment, fan_out=fan_out)
    finally:
        shipment.remove_failed_parts()
        cache.trim(spare=[image.digest, *chain])


@contextmanager
def _open_fan_out(
    request: ShipmentRequest, able: list[FanOutHost], image: ExportedImage, cache: LayerCache
) -> Iterator[FanOut | None]:
    """Set up the fan-out for the hosts in `able`; yield None where it is not worth it."""
    if not is_fan_out_worthwhile(able, image):
        yield None
        return

    def tell(host: str, done: int, total: int, source: str) -> None:
        request.report_progress(source, host, done, total)

    with FanOut(able, image, cache, tell) as fan_out:
        yield fan_out


def _missing_digests(chain: tuple[str, ...], has: LayersPresent) -> tuple[str, ...]:
    return chain if has.is_containerd else chain[has.count :]


def _inspect_host(request: ShipmentRequest, name: str, chain: tuple[str, ...]) -> FanOutHost:
    """Find out what the host has of the image, and whether it can pass layers on."""
    link = request.links[name]
    engine = link.engine()
    root = engine.info().get("DockerRootDir", "/var/lib/docker")
    able = parse_capabilities(link.run(capabilities_command(root)).text)
    address = _address_for_hosts(request.inventory, name, able)
    return FanOutHost(name, link, find_layers_present(engine, chain), able, address, docker_cli(link))


def docker_cli(link: HostLink) -> str:
    """Return the docker command for the link's engine, whatever the user's docker settings there say."""
    return shlex.join(getattr(link, "docker_argv", ("docker",)))


def _address_for_hosts(inventory: Inventory, name: str, able: FeedCapabilities) -> str:
    """Return the address by which other hosts reach this one.

    That is its `address:`, else its address in `network:`, else the one that the controller connected to."""
    given = inventory.named(name).address
    if given:
        return given
    if inventory.network:
        network = ipaddress.ip_network(inventory.network, strict=False)
        for address in able.addresses:
            if ipaddress.ip_address(address) in network:
                return address
    return able.address


def _disk_errors(image: ExportedImage, members: Mapping[str, FanOutHost]) -> list[HvdockerError]:
    """Return an error for every host with too little disk. A host of unknown disk space is skipped."""
    errors: list[HvdockerError] = []
    for name, member in members.items():
        needs = member.present.needs_bytes(image)
        free = member.ability.engine_disk_bytes
        if free is not None and free < needs:
            errors.append(
                HostUnfit(
                    f"the image needs about {show_bytes(needs)} of disk, {show_bytes(free)} are free",
                    host=name,
                    command="df -h /var/lib/docker",
                    fix="free some space: docker image prune && docker builder prune",
                )
            )
    return errors
