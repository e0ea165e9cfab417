"""Hosts feed each other: this machine sends an image once, to the first host, and every host passes what
arrives on to two more while it is still arriving. Where that does not work, this machine sends."""

from __future__ import annotations

import contextlib
import io
import secrets
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hvdocker.commands import feed as words
from hvdocker.commands.command import Command
from hvdocker.commands.image_parts import ImageContent, Layer
from hvdocker.errors import HvdockerError
from hvdocker.hosts.images.cache import LayerCache
from hvdocker.hosts.images.load import Present, load_error
from hvdocker.hosts.keys import Pair, make_pair
from hvdocker.hosts.link import HostLink, Result, must
from hvdocker.hosts.pool import each

FEWEST_HOSTS = 4
# Below this, setting the feeds up takes longer than sending.
FEWEST_BYTES = 32 << 20
_CHUNK = 1 << 20
_POLL_S = 1.0

# Host, bytes done, bytes in all, from whom. Raises where the whole work was interrupted.
Tell = Callable[[str, int, int, str], None]


@dataclass(frozen=True)
class Member:
    """A host that takes part, and what it has of the image already."""

    name: str
    link: HostLink
    present: Present
    ability: words.Ability
    address: str
    docker: str = "docker"


@dataclass
class Node:
    """A member's place: number 0 is fed by this machine, number N by (N - 1) // 2."""

    number: int
    member: Member
    layers: tuple[Layer, ...]
    is_feeding: bool
    host_key: Pair = field(default_factory=make_pair)
    client_key: Pair = field(default_factory=make_pair)
    is_ready: bool = False
    feed: words.Feed | None = None

    @property
    def size(self) -> int:
        return sum(layer.size for layer in self.layers)

    def before(self, name: str) -> int:
        """The bytes of the layers that come before this one."""
        done = 0
        for layer in self.layers:
            if layer.hex == name:
                break
            done += layer.size
        return done


def is_worth_it(members: Sequence[Member], image: ImageContent) -> bool:
    if len(members) < FEWEST_HOSTS:
        return False
    return max(_lacking(member, image) for member in members) >= FEWEST_BYTES


def _lacking(member: Member, image: ImageContent) -> int:
    return sum(layer.size for layer in member.present.lacks(image))


class Swarm:
    """Used as a context manager: feeds are set up at the start, and gone at the end."""

    def __init__(self, members: Sequence[Member], image: ImageContent, cache: LayerCache, tell: Tell) -> None:
        self._image = image
        self._cache = cache
        self._tell = tell
        self._folder = words.folder_of(secrets.token_hex(8))
        self._nodes = _arranged(members, image)
        self._by_name = {node.member.name: node for node in self._nodes}

    def __enter__(self) -> Swarm:
        # A host on which this fails is sent the image by this machine.
        each(self._by_name, lambda name: self._set_up(self._by_name[name]))
        return self

    def __exit__(self, *_: object) -> None:
        # A host that is gone by now ends its feed by itself.
        each(self._by_name, lambda name: self._by_name[name].member.link.run(words.stop(self._folder)))

    def deliver(self, host: str) -> bool:
        """False where this machine has to send this host the image after all."""
        node = self._by_name.get(host)
        if node is None or not node.is_ready:
            return False
        return self._pass_on(node) if node.is_feeding else self._end_point(node)

    def _set_up(self, node: Node) -> None:
        link, ability = node.member.link, node.member.ability
        must(link, words.unpack(self._folder), "making room to pass the image on failed", [self._files(node)])
        if node.is_feeding:
            ports = [20000 + secrets.randbelow(40000) for _ in range(5)]
            answer = link.run(words.start(self._folder, ports))
            if answer.code == 0 and answer.text.strip().isdigit():
                node.feed = words.Feed(node.number, ability.user, node.member.address, int(answer.text))
        node.is_ready = True

    def _files(self, node: Node) -> bytes:
        script, literals = words.load_script(node.member.present.parts(self._image), node.member.docker)
        host_keys = {other.number: other.host_key.public for other in self._nodes}
        files = {
            "serve": words.SERVE,
            "load": script,
            "fetch": words.fetch_script(node.layers),
            "key": node.client_key.private.reveal(),
            "known_hosts": words.known_hosts(host_keys),
        }
        if node.is_feeding:
            files["config"] = words.sshd_config(self._folder, node.member.address, node.member.ability.user)
            files["host_key"] = node.host_key.private.reveal()
            files["authorized_keys"] = words.authorized_keys([o.client_key.public for o in self._nodes])
            files |= {layer.hex: "" for layer in node.layers}
        return _packed({**{name: text.encode() for name, text in files.items()}, **literals})

    def _pass_on(self, node: Node) -> bool:
        """Its engine loads from files that grow; the files come from a feed, or from this machine."""
        loading = _Running(node.member.link, words.load(self._folder, None, node.number))
        if not self._fetched(node):
            self._send(node)
        result = loading.wait(lambda: self._tell(node.member.name, node.size, node.size, ""))
        if result.code != 0:
            raise load_error(self._image.reference, " ".join(result.tail(3)))
        return True

    def _fetched(self, node: Node) -> bool:
        for parent, feed in self._feeds_of(node):
            fetching = _Running(node.member.link, words.fetch(self._folder, feed, node.number))
            if fetching.wait(partial(self._watch, node, parent)).code == 0:
                return True
        return False

    def _end_point(self, node: Node) -> bool:
        """Straight from a feed into its engine."""
        for parent, feed in self._feeds_of(node):
            loading = _Running(node.member.link, words.load(self._folder, feed, node.number))
            result = loading.wait(partial(self._watch, node, parent))
            if result.code == 0:
                return True
            if node.member.link.run(words.was_cut(self._folder)).code != 0:
                raise load_error(self._image.reference, " ".join(result.tail(3)))
        return False

    def _feeds_of(self, node: Node) -> Iterator[tuple[Node, words.Feed]]:
        """Whoever is next above it, then those further up."""
        number = node.number
        while number:
            number = (number - 1) // 2
            above = self._nodes[number]
            if above.feed:
                yield above, above.feed

    def _send(self, node: Node) -> None:
        for layer in node.layers:
            command = words.store(self._folder, layer)
            must(node.member.link, command, "storing a layer failed", self._counted(node, layer))

    def _counted(self, node: Node, layer: Layer) -> Iterator[bytes]:
        done = node.before(layer.hex)
        with self._cache.path(layer.digest).open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
                done += len(chunk)
                self._tell(node.member.name, done, node.size, "")

    def _watch(self, node: Node, parent: Node) -> None:
        """The host that feeds it knows how far it is."""
        done = 0
        with contextlib.suppress(HvdockerError, ValueError):
            text = parent.member.link.run(words.progress(self._folder, node.number)).text
            name, _, sent = text.partition(" ")
            done = node.before(name) + int(sent)
        self._tell(node.member.name, done, node.size, parent.member.name)


def _arranged(members: Sequence[Member], image: ImageContent) -> list[Node]:
    """Those that lack most come first: a host can only pass on what it receives itself. One without room
    for that comes last, where nobody is fed by it."""
    layers = {member.name: member.present.lacks(image) for member in members}
    size = {name: sum(layer.size for layer in lacking) for name, lacking in layers.items()}
    has_room = {member.name: member.ability.room_bytes > 1.1 * size[member.name] for member in members}
    order = sorted(members, key=lambda member: (not has_room[member.name], -len(layers[member.name])))
    return [
        Node(number, member, layers[member.name], has_room[member.name] and 2 * number < len(order) - 1)
        for number, member in enumerate(order)
    ]


def _packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


class _Running:
    """A long command on a host, in a thread of its own, so that an interrupt need not wait for its end."""

    def __init__(self, link: HostLink, command: Command) -> None:
        self._link, self._command = link, command
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, tick: Callable[[], None]) -> Result:
        while self._thread.is_alive():
            self._thread.join(_POLL_S)
            tick()
        if self._error:
            raise self._error
        assert self._result is not None
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._link.run(self._command, timeout_s=None)
        except BaseException as error:
            self._error = error
