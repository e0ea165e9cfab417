"""For tests of image shipping: builds images with layers of random bytes, which no host has, and counts the
bytes that are sent."""

import io
import json
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import docker
import docker.errors

from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.spec import NETWORK
from tests.cluster.lab.wait import LabError, in_parallel, until

MIB = 1 << 20
# The brackets keep pgrep from finding the shell that runs it.
FIND_FEED_LEFTOVERS = (
    "ls -d /var/tmp/hvdocker-feed-* 2>/dev/null; pgrep -f 'sshd.*[h]vdocker-feed'; docker images -q hvdocker-part"
)


@dataclass
class Images:
    """Images built on this machine's engine. `images()` removes them there and from the hosts."""

    engine: docker.APIClient
    made: list[str] = field(default_factory=list)

    def build(self, tag: str, *sizes: int, base: str = "scratch") -> str:
        """Build an image on a base with one layer of random bytes per size; return its id."""
        names = [f"layer-{os.urandom(4).hex()}" for _ in sizes]
        lines = [f"FROM {base}", *(f"COPY {name} /{name}" for name in names)]
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            files = [("Dockerfile", "\n".join(lines).encode())]
            files += [(name, os.urandom(size)) for name, size in zip(names, sizes, strict=True)]
            for name, content in files:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        context.seek(0)
        events = list(self.engine.build(fileobj=context, custom_context=True, tag=tag, rm=True, decode=True))
        assert not any("error" in event for event in events), events
        self.made.append(tag)
        return str(self.engine.inspect_image(tag)["Id"])

    def forget(self) -> None:
        for tag in reversed(self.made):
            with suppress(docker.errors.ImageNotFound):
                self.engine.remove_image(tag, force=True)


@contextmanager
def images(lab: Lab) -> Iterator[Images]:
    made = Images(lab.engine)
    try:
        yield made
    finally:
        made.forget()
        for host in lab.hosts():
            for tag in made.made:
                with suppress(Exception):  # a host that a test broke is mended by the next
                    host.attempt(["docker", "rmi", "-f", tag])


def remove_all_images(*hosts: LabHost) -> None:
    """Remove all containers and images from the hosts."""
    # `rmi -f` fails for an image that others were built on, so the engine finds the order.
    script = "docker ps -aq | xargs -r docker rm -f && docker image prune --all --force"
    in_parallel(lambda host: host.exec(script), list(hosts))


def image_ids(hosts: list[LabHost], tag: str) -> dict[str, str]:
    """Return, per host, the id of the image of that name; an empty text if there is none."""
    return dict(in_parallel(lambda host: (host.name, _id(host, tag)), hosts))


def _id(host: LabHost, tag: str) -> str:
    code, out, err = host.attempt(["docker", "image", "inspect", "-f", "{{.Id}}", tag])
    if code != 0 and "No such image" not in err:
        raise LabError(f"{host.name}: {err}")
    return out.strip()


def layers(host: LabHost, tag: str) -> list[str]:
    return list(json.loads(host.docker("image", "inspect", "-f", "{{json .RootFS.Layers}}", tag)))


def assert_programs_on_top(newest_first: list[dict[str, Any]]) -> None:
    """Assert, for an image's history, that the layers above the first large one have our programs and are
    small."""
    sizes = [layer["Size"] for layer in newest_first]
    large = next(number for number, size in enumerate(sizes) if size > 10 << 20)
    ours = [number for number, layer in enumerate(newest_first) if "/opt/hvdocker" in layer["CreatedBy"]]
    copies = [number for number in ours if sizes[number] > 0]
    assert copies and max(copies) < large
    assert sum(sizes[:large]) < 2 << 20


def assert_no_shipment_leftovers(hosts: list[LabHost]) -> None:
    """Assert that hosts have no temporary tags, folders and processes of a shipment.

    SSH sessions of a feed end a moment after it, hence the wait."""
    for host in hosts:
        until(partial(_has_no_leftovers, host), f"{host.name} has nothing left of a shipment", 60)


def _has_no_leftovers(host: LabHost) -> bool:
    if left := host.attempt(["sh", "-c", FIND_FEED_LEFTOVERS])[1].strip():
        raise LabError(left)
    return True


@dataclass(frozen=True)
class BridgeTraffic:
    """Byte counter of the lab network's bridge: what this machine sends to hosts, not what they send each
    other."""

    statistics: Path

    @classmethod
    def of(cls, lab: Lab) -> "BridgeTraffic":
        network = lab.engine.inspect_network(NETWORK)["Id"][:12]
        return cls(Path(f"/sys/class/net/br-{network}/statistics/tx_bytes"))

    def sent_bytes(self) -> int:
        return int(self.statistics.read_text())
