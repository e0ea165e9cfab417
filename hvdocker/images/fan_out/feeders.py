"""Arranges the hosts of a fan-out as a binary tree, in which each host passes layers on to at most two others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hvdocker.images.fan_out import commands
from hvdocker.images.fan_out.capabilities import FeedCapabilities
from hvdocker.images.fan_out.long_command import LongCommand
from hvdocker.images.ship.load import LayersPresent
from hvdocker.images.ship.resumable_parts import ExportedImage, ImageLayer
from hvdocker.transport.link import HostLink
from hvdocker.transport.ssh.key_pairs import SshKeyPair, make_pair

MIN_HOSTS = 4
# Setting up the feeds takes about as long as the controller needs to send this many bytes once. The limit is
# compared with the bytes that the controller would send to all hosts without a fan-out: a medium layer for many
# hosts counts as much as a large layer for a few.
MIN_BYTES = MIN_HOSTS * (32 << 20)


@dataclass(frozen=True)
class FanOutHost:
    """A host that gets the image.

    `present` says which layers of the image the host has. `ability` says what the host has for passing layers on to
    other hosts. Other hosts reach it at `address`. `docker` is the command line of its docker CLI, such as `docker -H
    unix:///var/run/docker.sock`. `engine_root` is the data folder of its engine."""

    name: str
    link: HostLink
    present: LayersPresent
    ability: FeedCapabilities
    address: str
    docker: str = "docker"
    engine_root: str = "/var/lib/docker"


@dataclass
class FanOutNode:
    """A host's place in the tree of a fan-out, and the state of its transfer.

    `member` is the host. The controller sends to number 0; number N fetches from number (N - 1) // 2. `layers` are the
    layers that the host lacks. `is_feeding` says that the host passes layers on. `host_key` is the key of its feed (the
    sshd that other hosts fetch from), and `client_key` is the key with which it logs in to feeds. `is_ready` says that
    it was set up. `feed` is None if its feed does not run. `was_reached` says that some host could connect to the feed,
    `was_unreachable` that some host could not. `loading` is the running or finished `docker load` of a host that passes
    layers on, None for other hosts."""

    number: int
    member: FanOutHost
    layers: tuple[ImageLayer, ...]
    is_feeding: bool
    host_key: SshKeyPair = field(default_factory=make_pair)
    client_key: SshKeyPair = field(default_factory=make_pair)
    is_ready: bool = False
    feed: commands.Feed | None = None
    was_unreachable: bool = False
    was_reached: bool = False
    loading: LongCommand | None = None

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.layers)

    @property
    def should_try(self) -> bool:
        """Whether another host should try to fetch layers from this host's feed (its temporary sshd).

        False if at least one host failed to connect and none succeeded, because each try may take seconds, while the
        hosts below in the tree wait. If some host could connect, the problem is on the hosts that could not."""
        return self.was_reached or not self.was_unreachable

    def record_status(self, status: int) -> None:
        """Record whether another host could connect to this host's feed (its temporary sshd), for `should_try`.
        `status` is the exit status of that host's fetch: 0, or SSH_FAILED if it could not connect or the connection
        broke. Any other status is ignored."""
        self.was_reached |= status == 0
        self.was_unreachable |= status == commands.SSH_FAILED

    def bytes_before(self, name: str) -> int:
        """Return the total size in bytes of those of the node's layers that come before the layer `name` (a hex
        digest). If no layer has this digest, return the size of all layers. Used to report progress."""
        done = 0
        for layer in self.layers:
            if layer.hex == name:
                break
            done += layer.size
        return done


def is_fan_out_worthwhile(members: Sequence[FanOutHost], image: ExportedImage) -> bool:
    """Return whether a fan-out saves time: at least MIN_HOSTS of the hosts in `members` lack layers of the image, and
    these layers are at least MIN_BYTES, added up over all hosts."""
    lacking = [size for size in (_missing_bytes(member, image) for member in members) if size]
    return len(lacking) >= MIN_HOSTS and sum(lacking) >= MIN_BYTES


def _missing_bytes(member: FanOutHost, image: ExportedImage) -> int:
    return sum(layer.size for layer in member.present.missing_layers(image))


def arrange_tree(members: Sequence[FanOutHost], image: ExportedImage) -> list[FanOutNode]:
    """Return the hosts as a binary tree: node N feeds the nodes 2N + 1 and 2N + 2. The list is in the order of the
    numbers.

    Hosts that lack the most layers come first, because a host can pass on only layers that it receives: an engine
    exports an image only as a whole, so layers that are already in the engine cannot be served. Hosts without disk
    space for the layer files come last and feed no other host."""
    layers = {member.name: member.present.missing_layers(image) for member in members}
    has_room = {member.name: _has_disk_to_feed(member, image) for member in members}
    order = sorted(members, key=lambda member: (not has_room[member.name], -len(layers[member.name])))
    return [
        FanOutNode(number, member, layers[member.name], has_room[member.name] and 2 * number < len(order) - 1)
        for number, member in enumerate(order)
    ]


def _has_disk_to_feed(member: FanOutHost, image: ExportedImage) -> bool:
    """Return whether /var/tmp has space for the layers that the host would pass on.

    If /var/tmp is on the engine's disk, the layer files and the engine's own copy of the layers must both fit."""
    needs = 1.1 * _missing_bytes(member, image)
    if member.ability.is_one_disk:
        needs += member.present.needs_bytes(image)
    return member.ability.feed_disk_bytes > needs
