"""Launching and training on two hosts, against horovodrun started by hand in the same containers."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.contest import Bar, Contest, Contestant, Row, doing
from bench.ground import TRAINING_IMAGE, BenchError, Ground, run
from hvdocker import names
from hvdocker.shell.command import command
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import side_by_side

SCRIPTS = Path(__file__).parents[1] / "scripts"
CLUSTER = "bench-train"


@dataclass(frozen=True)
class Site:
    """Two hosts with workers that are up, and a folder of scripts."""

    ground: Ground
    hosts: list[LabHost]
    inventory: Path

    @property
    def code(self) -> Path:
        return self.inventory.parent / "code"

    def train(self, script: str) -> str:
        """Run `hvdocker train` as a process, start to end: connect, observe, sync, start, stream."""
        return self.ground.hvdocker("train", self.code / script, "-np", "2", "-i", self.inventory)

    def by_hand(self, script: str) -> str:
        """Run horovodrun with its defaults in the worker of the first host, over ssh. The code is already
        there."""
        spread = ",".join(f"{host.address}:1" for host in self.hosts)
        port = str(names.DEFAULT_PORT)
        words = ("horovodrun", "-np", "2", "-H", spread, "-p", port, "python", script)
        line = command("docker", "exec", names.worker_name(CLUSTER, None), *words).line()
        return run(self.ground.ssh(self.hosts[0], line))


@contextmanager
def _site(ground: Ground) -> Iterator[Site]:
    """Bring up a cluster on two hosts with the training image. A first job then has to sync the scripts."""
    hosts = ground.hosts(2, TRAINING_IMAGE)
    site = Site(ground, hosts, ground.inventory(hosts, TRAINING_IMAGE, CLUSTER))
    shutil.copytree(SCRIPTS, site.code, dirs_exist_ok=True)
    ground.hvdocker("up", site.inventory)
    try:
        yield site
    finally:
        ground.hvdocker("down", "-i", site.inventory, "-y", "--discard")
        side_by_side(LabHost.reset, hosts)


@contextmanager
def _launch(ground: Ground) -> Iterator[Mapping[str, Contestant]]:
    """A script that exits at once, on one slot of each of two hosts: from the command to its end."""
    with _site(ground) as site:
        site.train("quick.py")
        yield {
            "hvdocker": Contestant(doing(site.train, "quick.py")),
            "horovodrun": Contestant(doing(site.by_hand, "quick.py")),
        }


@contextmanager
def _steady(ground: Ground) -> Iterator[Mapping[str, Contestant]]:
    """The same training on one slot of each of two hosts, in samples per second after the first steps, as the
    script itself measures them. It runs twice by hand, to see how much two equal runs differ."""
    with _site(ground) as site:
        site.train("quick.py")

        def by_hand() -> float:
            return speed(site.by_hand("steady.py"))

        yield {
            "hvdocker": Contestant(lambda: speed(site.train("steady.py"))),
            "by hand": Contestant(by_hand),
            "by hand again": Contestant(by_hand),
        }


def speed(said: str) -> float:
    found = re.search(r"\bspeed ([0-9.]+)", said)
    if not found:
        raise BenchError(f"the script told no speed:\n{said[-500:]}")
    return float(found[1])


CONTESTS = (
    Contest(
        "launch",
        _launch,
        (
            Row(
                "train a script that exits at once, 2 hosts",
                "horovodrun, its defaults",
                "hvdocker",
                "horovodrun",
                Bar(0.6),
            ),
        ),
    ),
    Contest(
        "steady",
        _steady,
        (
            Row(
                "steady training speed, 2 hosts",
                "horovodrun by hand",
                "hvdocker",
                "by hand",
                Bar(0.98, is_floor=True),
                unit="samples/s",
                noise=("by hand again", "by hand"),
            ),
        ),
        is_slow=True,
    ),
)
