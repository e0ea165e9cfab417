"""Who feeds whom: a tree of hosts in which everybody hands on what it receives to two others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hvdocker.images.fan_out import commands as words
from hvdocker.images.fan_out.ability import Ability
from hvdocker.images.fan_out.long_command import LongCommand
from hvdocker.images.ship.load import LayersPresent
from hvdocker.images.ship.parts import ImageContent, Layer
from hvdocker.transport.link import HostLink
from hvdocker.transport.ssh.key_pairs import Pair, make_pair

FEWEST_HOSTS = 4
# Setting the feeds up costs about as much as sending this once. What counts is what would leave this
# machine without them: a middling layer for many hosts is worth as much as a large one for a few.
FEWEST_BYTES = FEWEST_HOSTS * (32 << 20)


@dataclass(frozen=True)
class Member:
    """A host that takes part, and what it has of the image already."""

    name: str
    link: HostLink
    present: LayersPresent
    ability: Ability
    address: str
    docker: str = "docker"


@dataclass
class Node:
    """A member's place: number 0 is fed by this machine, number N by (N - 1) // 2. `is_missed`: some host
    did not get to its feed; `is_reached`: some host did."""

    number: int
    member: Member
    layers: tuple[Layer, ...]
    is_feeding: bool
    host_key: Pair = field(default_factory=make_pair)
    client_key: Pair = field(default_factory=make_pair)
    is_ready: bool = False
    feed: words.Feed | None = None
    is_missed: bool = False
    is_reached: bool = False
    loading: LongCommand | None = None

    @property
    def name(self) -> str:
        return self.member.name

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.layers)

    @property
    def is_worth_a_try(self) -> bool:
        """Not where everybody so far failed to get there: every try may cost seconds, and those below wait
        for them. Where somebody got there, the trouble is with those who did not."""
        return self.is_reached or not self.is_missed

    def reached(self, status: int) -> None:
        """How a host fared that asked its feed."""
        self.is_reached |= status == 0
        self.is_missed |= status == words.UNREACHED

    def before(self, name: str) -> int:
        """The bytes of the layers that come before this one."""
        done = 0
        for layer in self.layers:
            if layer.hex == name:
                break
            done += layer.size
        return done


def is_worth_it(members: Sequence[Member], image: ImageContent) -> bool:
    lacking = [size for size in (_lacking(member, image) for member in members) if size]
    return len(lacking) >= FEWEST_HOSTS and sum(lacking) >= FEWEST_BYTES


def _lacking(member: Member, image: ImageContent) -> int:
    return sum(layer.size for layer in member.present.lacks(image))


def arranged(members: Sequence[Member], image: ImageContent) -> list[Node]:
    """Those that lack most come first: a host can only pass on what it receives itself. One without room
    for that comes last, where nobody is fed by it."""
    layers = {member.name: member.present.lacks(image) for member in members}
    has_room = {member.name: _has_room(member, image) for member in members}
    order = sorted(members, key=lambda member: (not has_room[member.name], -len(layers[member.name])))
    return [
        Node(number, member, layers[member.name], has_room[member.name] and 2 * number < len(order) - 1)
        for number, member in enumerate(order)
    ]


def _has_room(member: Member, image: ImageContent) -> bool:
    """On one disk the files that are passed on lie beside what the engine makes of them."""
    needs = 1.1 * _lacking(member, image)
    if member.ability.is_one_disk:
        needs += member.present.needs_bytes(image)
    return member.ability.room_bytes > needs
