"""Runs the examples of the repository on lab hosts, and reads what they print."""

import io
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.cli import REPOSITORY, Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster

# tests/setup/data.sh puts it there.
FASHION_MNIST = REPOSITORY / ".cache" / "fashion-mnist"
TORCH_IMAGE = "doc-hvd:torch-cpu"
TENSORFLOW_IMAGE = "doc-hvd:cpu"
RANK = re.compile(r"│ rank (\d+)(?: of \d+)? on (\S+): weights (\w+)$", re.MULTILINE)
EPOCH = re.compile(r"│ epoch (\d+) loss ([\d.]+)(?: accuracy ([\d.]+))?$", re.MULTILINE)


@contextmanager
def example_cluster(lab: Lab, desk: Cli, image: str, *examples: str, **settings: Any) -> Iterator[LabCluster]:
    """Bring up a cluster of two hosts with that image; the examples are in folders of their names, with their data.

    `down` and a check for leftovers follow."""
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, desk, hosts, image=image, memory="3GB", **settings)
    for name in examples:
        copy_example(name, site.folder / name)
    try:
        site.up()
        yield site
    finally:
        desk.close()
        site.down("--discard")
    assert cluster_leftovers(hosts, site.cluster) == {}


def copy_example(name: str, folder: Path) -> None:
    assert (FASHION_MNIST / ".ready").exists(), "run tests/setup/data.sh"
    shutil.copytree(REPOSITORY / "examples" / name, folder, ignore=shutil.ignore_patterns("data", "__pycache__"))
    shutil.copytree(FASHION_MNIST, folder / "data")


def train(site: LabCluster, *flags: str, **arguments: Any) -> str:
    """Train with these flags of `train`; the arguments go to the script. Return the output."""
    words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    return site.run("train", *flags, "--", *words).out


def weights(text: str) -> dict[int, tuple[str, str]]:
    """Return the host and the hash of the weights that each rank printed, by rank."""
    return {int(rank): (host, digest) for rank, host, digest in RANK.findall(text)}


def losses(text: str) -> dict[int, float]:
    """Return the loss of each epoch."""
    return {int(epoch): float(loss) for epoch, loss, _ in EPOCH.findall(text)}


def accuracies(text: str) -> dict[int, float]:
    """Return the accuracy of each epoch."""
    return {int(epoch): float(accuracy) for epoch, _, accuracy in EPOCH.findall(text)}


def accuracy(text: str) -> float:
    """Return the accuracy that stands on a line of its own at the end of a training."""
    (found,) = re.findall(r"│ accuracy ([\d.]+)$", text, re.MULTILINE)
    return float(found)


def assert_two_hosts_have_one_model(site: LabCluster, text: str) -> None:
    ranks = weights(text)
    assert {rank: host for rank, (host, _) in ranks.items()} == {
        number: f"hvd-{host.name}" for number, host in enumerate(site.hosts)
    }
    assert len({digest for _, digest in ranks.values()}) == 1


def fetch_outputs(site: LabCluster) -> Path:
    """Fetch the newest job; return the folder of its outputs."""
    return Path(site.run("fetch").out.strip()) / "out"


def run_in_image(image: str, folder: Path, code: str) -> str:
    """Run Python code in the image on this machine's engine, in the folder; return what it prints."""
    mount = f"{folder}:{folder}:ro"
    words = ["docker", "run", "--rm", "--network", "none", "-v", mount, "-w", str(folder), image, "python", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def put_fashion_mnist(host: LabHost, folder: str) -> None:
    """Put the data into a folder of the host, where a mount can take it from."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in FASHION_MNIST.glob("*.gz"):
            archive.add(path, path.name)
    host.exec(["mkdir", "-p", folder])
    host.engine.put_archive(host.container, folder, packed.getvalue())
