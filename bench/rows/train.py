"""Launching and training on two hosts, against horovodrun and torchrun started by hand in the same containers."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.benchmark import LOOKS, Bar, Benchmark, Candidate, Row, timed_call
from bench.testbed import TORCH_IMAGE, TRAINING_IMAGE, BenchError, Testbed, run
from hvdocker import names
from hvdocker.shell.command import command
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import in_parallel

SCRIPTS = Path(__file__).parents[1] / "scripts"
CLUSTER = "bench-train"
MASTER_PORT = 29400
# A launch takes seconds and varies much, so it has more rounds.
LAUNCH_LOOKS = (12, 24, 40)
# A decision about steady speed has at least ten rounds.
STEADY_LOOKS = LOOKS[1:]


@dataclass(frozen=True)
class TrainingCluster:
    """Two hosts with workers that are up, and a folder of scripts."""

    ground: Testbed
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
        return run(self._in_worker(self.hosts[0], *words))

    def torchrun_by_hand(self, script: str) -> str:
        """Run torchrun in the worker of each host at the same time, over ssh; return the output of both. The code is
        already there. Gloo is told the interface, as a person has to on hosts with several."""
        head = self.hosts[0].address
        started = []
        for number, host in enumerate(self.hosts):
            nodes = ("--nnodes", "2", "--nproc-per-node", "1", "--node-rank", str(number))
            rendezvous = ("--master-addr", head, "--master-port", str(MASTER_PORT))
            words = ("env", f"GLOO_SOCKET_IFNAME={self._interface(host)}", "torchrun", *nodes, *rendezvous, script)
            started.append(subprocess.Popen(self._in_worker(host, *words), stdout=subprocess.PIPE, text=True))
        said = [process.communicate()[0] for process in started]
        codes = [process.returncode for process in started]
        if any(codes):
            raise BenchError(f"torchrun by hand ended with {codes}: {said[0][-800:]}")
        return "".join(said)

    def _in_worker(self, host: LabHost, *words: str) -> list[str]:
        return self.ground.ssh(host, command("docker", "exec", names.worker_name(CLUSTER, None), *words).line())

    def _interface(self, host: LabHost) -> str:
        return host.exec(f"ip -o -4 addr show to {host.address}").split()[1]


@contextmanager
def _training_cluster(ground: Testbed, image: str = TRAINING_IMAGE) -> Iterator[TrainingCluster]:
    """Bring up a cluster on two hosts with a training image. A first job then has to sync the scripts."""
    hosts = ground.hosts(2, image)
    site = TrainingCluster(ground, hosts, ground.inventory(hosts, image, CLUSTER))
    shutil.copytree(SCRIPTS, site.code, dirs_exist_ok=True)
    ground.hvdocker("up", site.inventory)
    try:
        yield site
    finally:
        ground.hvdocker("down", "-i", site.inventory, "-y", "--discard")
        in_parallel(LabHost.reset, hosts)


@contextmanager
def _launch(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """A script that exits at once, on one slot of each of two hosts: from the command to its end."""
    with _training_cluster(ground) as site:
        site.train("quick.py")
        yield {
            "hvdocker": Candidate(timed_call(site.train, "quick.py")),
            "horovodrun": Candidate(timed_call(site.by_hand, "quick.py")),
        }


@contextmanager
def _steady(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """The same training on one slot of each of two hosts, in samples per second after the first steps, as the
    script itself measures them."""
    with _training_cluster(ground) as site:
        site.train("quick.py")
        yield {
            "hvdocker": Candidate(lambda: parse_speed(site.train("steady.py"))),
            "by hand": Candidate(lambda: parse_speed(site.by_hand("steady.py"))),
        }


@contextmanager
def _torch_launch(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """A script that exits at once, started with the launcher `torch`, and by torchrun typed on both hosts."""
    with _training_cluster(ground, TORCH_IMAGE) as site:
        site.train("quick.py")
        yield {
            "hvdocker": Candidate(timed_call(site.train, "quick.py")),
            "torchrun": Candidate(timed_call(site.torchrun_by_hand, "quick.py")),
        }


@contextmanager
def _torch_steady(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """The same DDP training on one slot of each of two hosts, in samples per second after the first steps."""
    with _training_cluster(ground, TORCH_IMAGE) as site:
        site.train("quick.py")
        yield {
            "hvdocker": Candidate(lambda: parse_speed(site.train("steady_torch.py"))),
            "by hand": Candidate(lambda: parse_speed(site.torchrun_by_hand("steady_torch.py"))),
        }


def parse_speed(said: str) -> float:
    found = re.search(r"\bspeed ([0-9.]+)", said)
    if not found:
        raise BenchError(f"the script told no speed:\n{said[-500:]}")
    return float(found[1])


BENCHMARKS = (
    Benchmark(
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
        is_quick=True,
        looks=LAUNCH_LOOKS,
    ),
    Benchmark(
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
            ),
        ),
        is_slow=True,
        looks=STEADY_LOOKS,
    ),
    Benchmark(
        "torch-launch",
        _torch_launch,
        (
            Row(
                "train a torch script that exits at once, 2 hosts",
                "torchrun typed on both hosts",
                "hvdocker",
                "torchrun",
                Bar(0.7),
            ),
        ),
        looks=LAUNCH_LOOKS,
    ),
    Benchmark(
        "torch-steady",
        _torch_steady,
        (
            Row(
                "steady DDP speed, 2 hosts",
                "torchrun by hand",
                "hvdocker",
                "by hand",
                Bar(0.98, is_floor=True),
                unit="samples/s",
            ),
        ),
        is_slow=True,
        looks=STEADY_LOOKS,
    ),
)
