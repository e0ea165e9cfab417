"""One image to several hosts: looking again, and clearing up in the right order."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.images.fan_out.capabilities import capabilities_command
from hvdocker.images.ship.cache import LayerCache, user_layer_cache
from hvdocker.images.ship.shipment import ShipmentRequest, docker_cli, open_shipment
from hvdocker.shell.command import Command
from tests.unit.builders import inventory
from tests.unit.fakes import FakeLink
from tests.unit.images.fan_out.test_fan_out import kind
from tests.unit.images.ship.test_export import BODIES, CHAIN, CONFIG, CONFIG_HEX, Engine, classic

SEEN = Engine(classic()).inspect_image("x:y")
IMPORT = "/var/lib/docker/tmp/docker-import-1"
CAN = "cli\nssh\nsshd\nuser ann\naddress 10.0.0.1\nroom tmpfs 1 1 999999999 1% /var/tmp\n"


class HostEngine:
    """An archive that lacks a layer is refused, as real engines do. Whatever layers it `says` it has, another
    push took them away before the first load; `is_stubborn` says so afterwards as well. A layer whose content has
    another digest is refused too, and with `refuses` everything."""

    refuses = ""
    root = "/var/lib/docker"

    def __init__(self, says: list[str], is_stubborn: bool = False, journal: list[str] | None = None) -> None:
        self.says, self.is_stubborn = says, is_stubborn
        self.loads: list[list[str]] = []
        self.journal = [] if journal is None else journal
        self.answer: dict[str, str] = {}

    def info(self) -> dict[str, Any]:
        return {"DockerRootDir": self.root}

    def images(self, quiet: bool = False, filters: dict[str, str] | None = None) -> list[Any]:
        if filters:
            self.journal.append("forget parts")
            return []
        return ["some"]

    def inspect_image(self, reference: str) -> dict[str, Any]:
        return {"RootFS": {"Layers": self.says}} if reference == "some" else SEEN

    def _url(self, path: str) -> str:
        return path

    def _post(self, url: str, data: Iterator[bytes], **how: object) -> None:
        with tarfile.open(fileobj=io.BytesIO(b"".join(data))) as archive:
            sent = sorted(name for name in archive.getnames() if name.endswith(".tar"))
            manifest = archive.extractfile("manifest.json")
            assert manifest
            (asked,) = json.load(manifest)
            wrong = [name for name in sent if _hex_of(archive, name) != name.removesuffix(".tar")]
        self.loads.append(sent)
        lacking = [name for name in asked["Layers"] if name not in sent]
        self.answer = {"error": f"open {IMPORT}/{lacking[0]}: no such file or directory"} if lacking else {}
        if wrong or self.refuses:
            self.answer = {"error": self.refuses or f"invalid diffID for layer: {wrong[0]}"}
        if not self.is_stubborn:
            self.says = []

    def _raise_for_status(self, response: object) -> None:
        pass

    def _stream_helper(self, response: object, decode: bool) -> Iterator[dict[str, str]]:
        yield self.answer


def _hex_of(archive: tarfile.TarFile, name: str) -> str:
    content = archive.extractfile(name)
    assert content
    return hashlib.sha256(content.read()).hexdigest()


class Link(FakeLink):
    can = CAN

    def __init__(self, name: str, engine: HostEngine, load: tuple[int, bytes, bytes] = (0, b"", b"")) -> None:
        super().__init__(name, self.reply)
        self._engine, self._load = engine, load

    def engine(self) -> Any:
        return self._engine

    def reply(self, command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
        if command == capabilities_command(self._engine.root):
            return 0, self.can.encode(), b""
        what = kind(command)
        self._engine.journal.append(what)
        return {"load": self._load, "start": (0, b"20001\n", b"")}.get(what, (0, b"", b""))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LayerCache:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HVDOCKER_CACHE", raising=False)
    return user_layer_cache()


def shipment_request(source: Any, links: dict[str, Any]) -> ShipmentRequest:
    def say(text: str, host: str, done: int, total: int) -> None:
        pass

    return ShipmentRequest(inventory(f"hosts: [{', '.join(links)}]"), "x:y", "this machine", source, links, say)


def tar_name(digest: str) -> str:
    return f"{digest.partition(':')[2]}.tar"


def test_a_layer_that_goes_meanwhile_is_sent_after_all() -> None:
    """It was not even read at first: the host had it."""
    engine = HostEngine(CHAIN[:1])
    with open_shipment(shipment_request(Engine(classic()), {"a": Link("a", engine)})) as shipment:
        shipment.deliver("a")
    assert engine.loads == [[tar_name(CHAIN[1])], sorted(map(tar_name, CHAIN))]


def test_a_damaged_layer_in_the_cache_is_read_again(cache: LayerCache) -> None:
    with open_shipment(shipment_request(Engine(classic()), {"a": Link("a", HostEngine([]))})) as shipment:
        shipment.deliver("a")
    cache.path(CHAIN[1]).write_bytes(b"x" + BODIES[1][1:])
    engine = HostEngine([])
    with open_shipment(shipment_request(Engine(classic()), {"b": Link("b", engine)})) as shipment:
        shipment.deliver("b")
    assert len(engine.loads) == 2 and cache.read(CHAIN[1]) == BODIES[1]


def test_an_image_that_is_refused_with_sound_layers_is_sent_once(cache: LayerCache) -> None:
    engine = HostEngine([])
    engine.refuses = "no"
    with (
        open_shipment(shipment_request(Engine(classic()), {"a": Link("a", engine)})) as shipment,
        pytest.raises(HvdockerError, match="loading x:y failed"),
    ):
        shipment.deliver("a")
    assert len(engine.loads) == 1 and all(cache.size(digest) for digest in CHAIN)


def test_a_layer_that_is_missing_again_is_an_error() -> None:
    engine = HostEngine(CHAIN[:1], is_stubborn=True)
    links = {"a": Link("a", engine)}
    with open_shipment(shipment_request(Engine(classic()), links)) as shipment, pytest.raises(HvdockerError) as caught:
        shipment.deliver("a")
    assert tar_name(CHAIN[0]) in caught.value.lines[0]
    assert len(engine.loads) == 2


def test_an_image_that_is_replaced_meanwhile_is_an_error() -> None:
    engine = HostEngine(CHAIN[:1])
    source = Engine(classic())
    with open_shipment(shipment_request(source, {"a": Link("a", engine)})) as shipment:
        source.archive, source.image_id = classic().replace(b"amd64", b"arm64"), "sha256:" + "7" * 64
        with pytest.raises(HvdockerError, match="was replaced while it was being sent"):
            shipment.deliver("a")


def test_a_full_disk_is_that_of_the_engines_own_folder() -> None:
    engine = HostEngine([])
    engine.root = "/data/docker"
    link = Link("a", engine)
    link.can = f"{CAN}disk /dev/sdb 1 1 0 100% /data\n"
    with (
        pytest.raises(HostUnfit, match=r"the image needs about .* of disk, 0 B are free") as caught,
        open_shipment(shipment_request(Engine(classic()), {"a": link})),
    ):
        pass
    assert (caught.value.host, caught.value.command) == ("a", "df -h /data/docker")


def test_parts_are_forgotten_when_nobody_loads_any_more(cache: LayerCache) -> None:
    """A load that is still under way could bring one more."""
    journal: list[str] = []
    refused = (1, b"", b"Error response from daemon: no")
    links = {name: Link(name, HostEngine([], journal=journal), refused) for name in "abcd"}
    fill(cache)
    for link in links.values():
        link.engine().refuses = "no"
    with open_shipment(shipment_request(Engine(classic()), links)) as shipment:
        for name in "ab":
            with pytest.raises(HvdockerError, match="loading x:y failed"):
                shipment.deliver(name)
        assert "load" in journal and "forget parts" not in journal
    ends = [what for what in journal if what in ("stop", "forget parts")]
    assert ends == ["stop"] * 4 + ["forget parts"] * 2


def test_the_layers_that_were_sent_stay_in_the_cache(monkeypatch: pytest.MonkeyPatch, cache: LayerCache) -> None:
    """Also where they are more than it should hold: the next change needs only what is new."""
    monkeypatch.setenv("HVDOCKER_CACHE", "1KB")
    with cache.draft() as draft:
        draft.write(b"old" * 1000)
        cache.keep(draft, "sha256:old")
    with open_shipment(shipment_request(Engine(classic()), {"a": Link("a", HostEngine([]))})) as shipment:
        shipment.deliver("a")
    assert [cache.size(digest) for digest in CHAIN] == list(map(len, BODIES))
    assert cache.size("sha256:old") is None


def fill(cache: LayerCache) -> None:
    """Layers that are large, but take no room: nobody reads them here."""
    with cache.draft() as draft:
        draft.write(CONFIG)
        cache.keep(draft, f"sha256:{CONFIG_HEX}")
    for digest in CHAIN:
        with cache.draft() as draft:
            draft.truncate(40 << 20)
            cache.keep(draft, digest)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"docker_argv": ("docker", "-H", "unix:///a b/docker.sock")}, "docker -H 'unix:///a b/docker.sock'"),
        ({}, "docker"),
    ],
)
def test_the_cli_talks_to_the_engine_that_the_link_talks_to(how: dict[str, Any], words: str) -> None:
    link: Any = FakeLink("a")
    for name, value in how.items():
        setattr(link, name, value)
    assert docker_cli(link) == words
