"""Sends one image to several hosts: finds the layers that each host lacks, checks the free disk, and sends.

The layers come from the controller, or by fan-out (hosts pass layers on to each other)."""

from __future__ import annotations

import contextlib
import ipaddress
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from docker import APIClient

from hvdocker.errors import FREE_IMAGES_FIX, HostUnfit, HostUnreachable, HvdockerError, Interrupted, raise_all
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

# Called with text, host, bytes done and bytes in total. Raises if the run was interrupted.
ReportProgress = Callable[[str, str, int, int], None]


@dataclass(frozen=True)
class ShipmentRequest:
    """What to send, and to which hosts.

    `reference` is the name of the image. `source` (CONTROLLER or a host name) is the place that has the image, and
    `engine` is the engine there. `links` are the links to the hosts that get the image, by host name.

    `report_progress` is called with a text, a host, the bytes done and the bytes in total (0 if unknown). While the
    image is read, the host is the source and the text is `reading`. While it is sent, the host is the receiver. The
    text is then the name of the host that passes the layers on, or empty if the controller sends them.
    `report_progress` raises Interrupted after Ctrl-C, and Locked if a lock was lost."""

    inventory: Inventory
    reference: str
    source: str
    engine: APIClient
    links: Mapping[str, HostLink]
    report_progress: ReportProgress

    def report_read(self, done: int) -> None:
        """Report that `done` bytes of the image were read from the source so far; the total is unknown."""
        self.report_progress("reading", self.source, done, 0)


@dataclass
class _CacheRepair:
    """The state of the layer cache's repair after a failed load: whether the cache was checked (`is_checked`), and the
    digests of the layers that were `damaged`.

    The cache is checked at most once per shipment. `lock` is held meanwhile, because several threads serve the
    hosts."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    is_checked: bool = False
    damaged: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Shipment:
    """The transfer of one image to several hosts.

    `members` are the hosts that get the image, by name. `cache` has the image's layers on the controller. `fan_out` is
    None if hosts do not pass layers on to each other. `failed` collects the hosts that may still have parts (incomplete
    images) after an error. `repair` says whether the cache was already checked for damage."""

    request: ShipmentRequest
    image: ExportedImage
    members: Mapping[str, FanOutHost]
    cache: LayerCache
    fan_out: FanOut | None
    failed: list[str] = field(default_factory=list)
    repair: _CacheRepair = field(default_factory=_CacheRepair)

    def deliver(self, host: str) -> None:
        """Bring exactly this image to the host, by fan-out or from the controller. Raise HvdockerError if that fails.

        A host that failed is recorded, and `remove_failed_parts` later removes the parts (incomplete images)
        on it. If the connection to the host is lost, the parts stay and the next try continues after them."""
        engine = self.members[host].link.engine()
        try:
            self._deliver_or_repair(host, engine)
        except HvdockerError:
            self.failed.append(host)
            raise

    def _deliver_or_repair(self, host: str, engine: APIClient) -> None:
        """Bring the image to the host. If that fails and layers in the cache are damaged, read them again and try once
        more. A full disk, a lost connection and Ctrl-C are not tried again."""
        try:
            if self.fan_out and self.fan_out.deliver(host):
                finish_load(engine, self.image)
            else:
                self._send_from_controller(host, engine)
        except (HostUnfit, HostUnreachable, Interrupted):
            raise
        except HvdockerError:
            if not self._drop_damaged_layers():
                raise
            self._send_from_controller(host, engine)

    def _drop_damaged_layers(self) -> bool:
        """Remove damaged layers of the image from the cache, and return whether there were any. Only the first call
        checks the layers; later calls return the same answer.

        The next transfer reads the removed layers again from the source."""
        with self.repair.lock:
            if not self.repair.is_checked:
                self.repair.is_checked = True
                chain = [layer.digest for layer in self.image.layers]
                self.repair.damaged += [digest for digest in chain if self.cache.drop_if_damaged(digest)]
            return bool(self.repair.damaged)

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

        streams = 1 if self.fan_out else len(self.members)
        with self.members[host].link.upload_engine(total, streams) as upload:
            load_image(upload, image, has.parts(image), self.cache, sent)

    def _with_cached_layers(self, has: LayersPresent) -> ExportedImage:
        """Make sure that the cache has every layer that a host lacks, and return the image with the sizes of its
        layers. `has` says which layers the host has.

        The image is read from the source again if the host lacks more layers than when the shipment began, or if a
        damaged layer was removed from the cache. Raise HvdockerError if the image on the source was replaced
        meanwhile."""
        lacking = has.missing_layers(self.image)
        # A layer that was damaged and read again may have another size now.
        if all(layer.size and self.cache.size(layer.digest) == layer.size for layer in lacking):
            return self.image
        needed = [layer.digest for layer in lacking]
        image = export_image(self.request.engine, self.request.reference, needed, self.cache, self.request.report_read)
        if image.digest != self.image.digest:
            what = f"{self.request.reference} on {self.request.source} was replaced while it was being sent"
            raise HvdockerError(what, fix="run the command again")
        return replace(image, sent_at=self.image.sent_at)

    def remove_failed_parts(self) -> None:
        """Remove the parts (incomplete images) on the hosts in `failed`. Errors are ignored.

        Call this only after the fan-out has ended: a part that an engine loads later would not be removed."""

        def remove(name: str) -> None:
            with contextlib.suppress(Exception):  # the first error is the one to report
                remove_parts(self.members[name].link.engine(), self.image)

        for_each_host(self.failed, remove)


@contextmanager
def open_shipment(request: ShipmentRequest) -> Iterator[Shipment]:
    """Prepare to send an image, and yield the shipment. Preparing means: inspect all hosts, read the layers that any
    host lacks into the cache, check the disks, and set up the fan-out. At the end the parts of failed hosts are
    removed.

    Raise HostUnfit if a host has too little free disk. The plan cannot check this, because only now is it known which
    layers are sent: a few changed layers may fit on a disk that is too small for the whole image."""
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
    """Set up the fan-out (hosts pass layers on to each other) among the hosts in `able`, which have the needed
    programs. Yield the fan-out; it ends with the `with` block.

    Yield None if a fan-out would not save time."""
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
    """Return which layers of the image the host `name` has, and whether it can pass layers on to other hosts.

    `chain` are the digests of the image's layers, lowest first."""
    link = request.links[name]
    engine = link.engine()
    root = engine.info().get("DockerRootDir", "/var/lib/docker")
    able = parse_capabilities(link.run(capabilities_command(root)).text)
    address = _address_for_hosts(request.inventory, name, able)
    return FanOutHost(name, link, find_layers_present(engine, chain), able, address, docker_cli(link), root)


def docker_cli(link: HostLink) -> str:
    """Return the docker command line for the link's engine, such as `docker -H unix:///var/run/docker.sock`. It names
    the engine's socket, so that the docker context of the SSH user on the host does not matter. For a link that is not
    over SSH, return `docker`."""
    return shlex.join(getattr(link, "docker_argv", ("docker",)))


def _address_for_hosts(inventory: Inventory, name: str, able: FeedCapabilities) -> str:
    """Return the address by which other hosts reach the host `name`.

    That is the host's `address:` in the inventory, else its address in the inventory's `network:`, else the address
    that the controller connected to. The last two come from `able`."""
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
    """Return an error for every host in `members` whose engine has too little free disk for the layers of the image
    that it lacks. There is no error for a host whose free disk is unknown."""
    errors: list[HvdockerError] = []
    for name, member in members.items():
        needs = member.present.needs_bytes(image)
        free = member.ability.engine_disk_bytes
        if free is not None and free < needs:
            errors.append(
                HostUnfit(
                    f"the image needs about {show_bytes(needs)} of disk, {show_bytes(free)} are free",
                    host=name,
                    command=shlex.join(("df", "-h", member.engine_root)),
                    fix=FREE_IMAGES_FIX,
                )
            )
    return errors
