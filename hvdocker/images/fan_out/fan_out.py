"""Distributes an image from host to host. The controller sends the image once, to the first host, and each host
forwards each layer to at most two other hosts while the layer is still arriving.

A host may be unable to take part: ssh or the docker CLI is missing, /var/tmp is full, or the hosts do not
reach each other. Then the controller sends the image to that host. It is an error only if the
engine itself refuses the image, or if the controller loses the connection to a host."""

from __future__ import annotations

import contextlib
import io
import secrets
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError, Interrupted
from hvdocker.images.fan_out import commands
from hvdocker.images.fan_out.feeders import FanOutHost, FanOutNode, arrange_tree
from hvdocker.images.fan_out.long_command import LongCommand
from hvdocker.images.ship.cache import LayerCache
from hvdocker.images.ship.load import LayersGone, load_error
from hvdocker.images.ship.resumable_parts import ExportedImage
from hvdocker.transport.link import CommandResult, input_from_file, run_or_raise
from hvdocker.transport.pool import for_each_host

# How the docker CLI begins a message of the engine about an archive.
_REFUSALS = ("error response from daemon", "error processing tar file")
# Parts of messages of the docker CLI or the shell that mean that the engine was never asked.
_NOT_ASKED = ("connect", "sudo:", "not found", "permission denied")

# Called with host, bytes done, bytes in total and the feeding host. Raises if the shipment was interrupted.
Tell = Callable[[str, int, int, str], None]


class FanOut:
    """A fan-out of one image to `members`, the hosts that pass its layers on to each other. It is a context manager.

    On entry it sets up the hosts, and starts a feed (a temporary sshd from which other hosts fetch) on each host that
    has to pass layers on. On exit it stops the feeds and removes all files. `cache` has the layers that the controller
    sends. `tell` is called with a host, its bytes done, its bytes in total and the host that feeds it (empty if none
    does). `tell` raises Interrupted after Ctrl-C, and Locked if a lock was lost."""

    def __init__(self, members: Sequence[FanOutHost], image: ExportedImage, cache: LayerCache, tell: Tell) -> None:
        self._image = image
        self._cache = cache
        self._tell = tell
        self._folder = commands.feed_folder(secrets.token_hex(8))
        self._nodes = arrange_tree(members, image)
        self._by_name = {node.name: node for node in self._nodes}

    def __enter__(self) -> FanOut:
        try:
            # A host on which the setup fails is not ready, and gets the image from the controller.
            for_each_host(self._by_name, lambda name: self._set_up(self._by_name[name]))
        except BaseException:
            # `__exit__` is not called when `__enter__` fails.
            self._clean_up()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._clean_up()

    def _clean_up(self) -> None:
        # The feed of a host that is unreachable now ends by itself.
        for_each_host(self._by_name, lambda name: self._by_name[name].member.link.run(commands.stop_feed(self._folder)))

    def deliver(self, host: str) -> bool:
        """Bring the image to the host by fan-out (layers come from other hosts). Return whether it was loaded. False
        means that this host cannot take part, and that the caller has to send the image from the controller.

        Raise HostUnfit if the disk of the engine is full, HvdockerError if the engine refuses the image,
        HostUnreachable if the host is unreachable, and Interrupted after Ctrl-C."""
        node = self._by_name.get(host)
        if node is None or not node.is_ready:
            return False
        try:
            result = self._pass_on(node) if node.is_feeding else self._load_from_feed(node)
        except (Interrupted, HostUnreachable):
            raise
        except HvdockerError:
            self._give_up(node)
            return False
        return result is not None and self._is_loaded(result)

    def _set_up(self, node: FanOutNode) -> None:
        link, ability = node.member.link, node.member.ability
        run_or_raise(
            link, commands.unpack_feed(self._folder), "making room to pass the image on failed", [self._files(node)]
        )
        if node.is_feeding:
            ports = [20000 + secrets.randbelow(40000) for _ in range(5)]
            answer = link.run(commands.start_feed(self._folder, ports))
            if answer.code == 0 and answer.text.strip().isdigit():
                node.feed = commands.Feed(node.number, ability.user, node.member.address, int(answer.text))
        node.is_ready = True

    def _files(self, node: FanOutNode) -> bytes:
        script, literals = commands.load_script(node.member.present.parts(self._image), node.member.docker)
        host_keys = {other.number: other.host_key.public for other in self._nodes}
        files = {
            "serve": commands.SERVE,
            "load": script,
            "fetch": commands.fetch_script(node.layers),
            "key": node.client_key.private.reveal(),
            "known_hosts": commands.known_hosts(host_keys),
        }
        if node.is_feeding:
            files["config"] = commands.sshd_config(self._folder, node.member.address, node.member.ability.user)
            files["host_key"] = node.host_key.private.reveal()
            files["authorized_keys"] = commands.authorized_keys([o.client_key.public for o in self._nodes])
            files |= {layer.hex: "" for layer in node.layers}
        return _packed({**{name: text.encode() for name, text in files.items()}, **literals})

    def _pass_on(self, node: FanOutNode) -> CommandResult:
        """Load the image on a host that feeds other hosts, and return the result of the load.

        The host fetches the layers from a feed (another host's sshd) into files, or the controller writes these files
        if no feed works. The load reads the files while they are still growing."""
        result = self._load(node, during=lambda: self._receive(node))
        if commands.missing_layer_status(result.text) is None:
            return result
        # The load did not get a layer in time. All layers have arrived by now, so load again.
        return self._load(node)

    def _load(self, node: FanOutNode, during: Callable[[], None] = lambda: None) -> CommandResult:
        node.loading = LongCommand(node.member.link, commands.load_parts(self._folder, None, node.number))
        during()
        return node.loading.wait(lambda: self._tell(node.name, node.size, node.size, ""))

    def _receive(self, node: FanOutNode) -> None:
        if not self._fetched(node):
            self._send(node)

    def _fetched(self, node: FanOutNode) -> bool:
        for parent, feed in self._feeds_of(node):
            fetching = LongCommand(node.member.link, commands.fetch_layers(self._folder, feed, node.number))
            code = fetching.wait(partial(self._watch, node, parent)).code
            parent.record_status(code)
            if code == 0:
                return True
        return False

    def _load_from_feed(self, node: FanOutNode) -> CommandResult | None:
        """Load the image on a host that feeds no other host, directly from a feed (another host's sshd). Return the
        result of the load, which may be a failure.

        The next feed is tried if a layer could not be fetched, unless this host is the cause (its disk is full, or its
        engine was not reached). Return None if no feed could deliver all layers."""
        for parent, feed in self._feeds_of(node):
            loading = LongCommand(node.member.link, commands.load_parts(self._folder, feed, node.number))
            result = loading.wait(partial(self._watch, node, parent))
            status = commands.missing_layer_status(result.text)
            parent.record_status(status or 0)
            if result.code == 0 or status is None or _is_hopeless(result):
                return result
        return None

    def _is_loaded(self, result: CommandResult) -> bool:
        """Return whether the load with this result succeeded. Raise HostUnfit if the disk of the engine is full, and
        HvdockerError if the engine refused the image.

        False means that the docker CLI did not reach the engine (socket, sudo), or that a layer was missing: the engine
        did not get it or no longer has it. The controller then sends the image."""
        if result.code == 0:
            return True
        said = " ".join(result.tail(3))
        error = load_error(self._image.reference, said)
        if isinstance(error, HostUnfit):
            raise error
        was_cut = commands.missing_layer_status(result.text) is not None
        if was_cut or isinstance(error, LayersGone) or not any(sign in said.lower() for sign in _REFUSALS):
            return False
        raise error

    def _give_up(self, node: FanOutNode) -> None:
        """Take the host out of the fan-out after an error, so that the controller can send the image to it.

        Other hosts start no new transfer from it. Its layer files are removed: that frees disk space, and ends the
        transfers from it that still run. If a load runs on the host, wait for its end. Raise Interrupted, or
        HostUnreachable if the host is lost during this wait; other errors are ignored."""
        node.feed = None
        with contextlib.suppress(HvdockerError):
            node.member.link.run(commands.remove_layers(self._folder, node.layers))
        if node.loading:
            try:
                node.loading.wait(lambda: self._tell(node.name, 0, node.size, ""))
            except (Interrupted, HostUnreachable):
                raise
            except HvdockerError:
                return

    def _feeds_of(self, node: FanOutNode) -> Iterator[tuple[FanOutNode, commands.Feed]]:
        """Yield the nodes from which this node can fetch layers, each with its feed (sshd). These are the nodes above
        it in the tree, the nearest first. Nodes without a running feed, or whose feed no host could connect to, are
        skipped."""
        number = node.number
        while number:
            number = (number - 1) // 2
            above = self._nodes[number]
            if above.feed and above.should_try:
                yield above, above.feed

    def _send(self, node: FanOutNode) -> None:
        for layer in node.layers:
            command = commands.store_layer(self._folder, layer)
            report = partial(self._report_sent, node, node.bytes_before(layer.hex))
            content = input_from_file(self._cache.path(layer.digest), report, layer.size)
            run_or_raise(node.member.link, command, "storing a layer failed", content)

    def _report_sent(self, node: FanOutNode, before: int, sent: int) -> None:
        self._tell(node.name, before + sent, node.size, "")

    def _watch(self, node: FanOutNode, parent: FanOutNode) -> None:
        """Report how many bytes the node has received from `parent`. Called once per second while the node fetches.
        Only the feeding host `parent` knows the number, so that host is asked. If asking fails, 0 is reported."""
        done = 0
        with contextlib.suppress(HvdockerError, ValueError):
            text = parent.member.link.run(commands.read_progress(self._folder, node.number)).text
            name, _, sent = text.partition(" ")
            done = node.bytes_before(name) + int(sent)
            parent.was_reached = True
        self._tell(node.name, done, node.size, parent.name)


def _is_hopeless(result: CommandResult) -> bool:
    """Return whether a load failed because of the host on which it ran (disk full, engine not reached), so that no
    other feed (host to fetch from) can help.

    Such a load ends early, so it also reports a layer that could not be fetched. That report alone would look like a
    problem of the feed. So the messages of the docker CLI in `result` are searched for the cause."""
    said = " ".join(result.tail(3)).lower()
    return isinstance(load_error("", said), HostUnfit) or any(sign in said for sign in _NOT_ASKED)


def _packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
