"""Launching and training on two hosts, against horovodrun and torchrun started by hand in the same containers."""

import re
import shutil
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from bench.benchmark import Bar, Benchmark, Candidate, Row, timed_call
from bench.testbed import TORCH_IMAGE, TRAINING_IMAGE, BenchError, Testbed, run
from hvdocker import names
from hvdocker.shell.command import command
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import in_parallel

SCRIPTS = Path(__file__).parents[1] / "scripts"
CLUSTER = "bench-train"
MASTER_PORT = 29400
# A launch takes seconds and varies much. Steady speed varies from job to job more than from block to block. So both
# have more rounds than others.
TRAIN_LOOKS = (12, 24, 40)


@dataclass(frozen=True)
class TrainingCluster:
    """Two hosts with workers that are up, and a folder of scripts."""

    ground: Testbed
    hosts: list[LabHost]
    inventory: Path

    @property
    def code(self) -> Path:
        return self.inventory.parent / "code"

    def train(self, script: str, *arguments: str) -> str:
        """Run `hvdocker train` as a process, start to end: connect, observe, sync, start, stream."""
        words = ("-np", "2", "-i", self.inventory, *(("--", *arguments) if arguments else ()))
        return self.ground.hvdocker("train", self.code / script, *words)

    def by_hand(self, script: str, *arguments: str) -> str:
        """Run horovodrun with its defaults in the worker of the first host, over ssh. The code is already
        there."""
        spread = ",".join(f"{host.address}:1" for host in self.hosts)
        port = str(names.DEFAULT_PORT)
        words = ("horovodrun", "-np", "2", "-H", spread, "-p", port, "python", script, *arguments)
        return run(self._in_worker(self.hosts[0], *words))

    def torchrun_by_hand(self, script: str, *arguments: str) -> str:
        """Run torchrun in the worker of each host at the same time, over ssh; return the output of both. The code is
        already there. Gloo is told the interface, as a person has to on hosts with several."""
        head = self.hosts[0].address
        started = []
        for number, host in enumerate(self.hosts):
            nodes = ("--nnodes", "2", "--nproc-per-node", "1", "--node-rank", str(number))
            rendezvous = ("--master-addr", head, "--master-port", str(MASTER_PORT))
            words = (
                "env",
                f"GLOO_SOCKET_IFNAME={self._interface(host)}",
                "torchrun",
                *nodes,
                *rendezvous,
                script,
                *arguments,
            )
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
    """The same training on one slot of each of two hosts, by `train` and by horovodrun, in turn block by block."""
    with _training_cluster(ground) as site:
        site.train("quick.py")
        yield {"speed": Candidate(_in_turn(partial(site.train, "steady.py"), partial(site.by_hand, "steady.py")))}


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
    """The same DDP training on one slot of each of two hosts, by `train` and by torchrun, in turn block by block."""
    script = "steady_torch.py"
    with _training_cluster(ground, TORCH_IMAGE) as site:
        site.train("quick.py")
        yield {"speed": Candidate(_in_turn(partial(site.train, script), partial(site.torchrun_by_hand, script)))}


def _in_turn(ours: Callable[..., str], by_hand: Callable[..., str]) -> Callable[[], float]:
    """Return a work that runs both jobs at the same time and returns our speed as a multiple of the other. The one that
    trains first changes with each round."""
    rounds = count()

    def work() -> float:
        number = next(rounds)
        turns, first = f"/train/turns-{number}", number % 2
        with ThreadPoolExecutor(2) as both:
            running = both.submit(ours, turns, str(first)), both.submit(by_hand, turns, str(1 - first))
            mine, other = (parse_blocks(one.result()) for one in running)
        return median_speed(mine, other)

    return work


def median_speed(mine: Mapping[int, float], other: Mapping[int, float]) -> float:
    """Return the median, over all blocks, of our speed as a multiple of the other. Both map numbers of blocks to
    seconds."""
    if not mine or mine.keys() != other.keys():
        raise BenchError(f"the jobs did not train the same blocks: {sorted(mine)} and {sorted(other)}")
    return statistics.median(other[number] / mine[number] for number in mine)


def parse_blocks(said: str) -> dict[int, float]:
    """Return the seconds of each block, from the output of a job (see scripts/turns.py)."""
    return {int(number): float(seconds) for number, seconds in re.findall(r"\bblock (\d+) ([0-9.]+)", said)}


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
        looks=TRAIN_LOOKS,
    ),
    Benchmark(
        "steady",
        _steady,
        (
            Row(
                "steady training speed, 2 hosts",
                "horovodrun by hand",
                "speed",
                None,
                Bar(0.98, is_floor=True),
                unit="×",
            ),
        ),
        is_slow=True,
        looks=TRAIN_LOOKS,
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
        looks=TRAIN_LOOKS,
    ),
    Benchmark(
        "torch-steady",
        _torch_steady,
        (
            Row(
                "steady DDP speed, 2 hosts",
                "torchrun by hand",
                "speed",
                None,
                Bar(0.98, is_floor=True),
                unit="×",
            ),
        ),
        is_slow=True,
        looks=TRAIN_LOOKS,
    ),
)
