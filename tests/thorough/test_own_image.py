"""A team's own image, from its Dockerfile to a checkpoint at home: built, made usable, pushed to a registry, pulled by
two hosts, trained on data that the hosts have."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.cli import REPOSITORY, Cli
from tests.cluster.examples import (
    TORCH_IMAGE,
    accuracies,
    assert_two_hosts_have_one_model,
    fetch_outputs,
    losses,
    put_fashion_mnist,
    run_in_image,
)
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.images import image_ids, remove_all_images
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.registry import LOGIN, PULLER, environment, registry

__all__ = ["registry"]  # a fixture

pytestmark = pytest.mark.training

BASE = "hvdocker/debian:bookworm"
OWN = "team/fashion:7"
USABLE = "hvdocker/team/fashion:7"
SCRIPT = "/opt/fashion/train.py"
DATA = "/srv/fashion-mnist"
# As people write it: their Python packages, their code, a user of their own. Nothing of hvdocker's, and no sshd. The
# wheels come from this machine, because a CPU build of PyTorch is not in every index.
DOCKERFILE = f"""\
FROM {BASE}
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*
COPY wheels /tmp/wheels
RUN python3 -m venv /opt/team && /opt/team/bin/pip install --no-index --find-links /tmp/wheels torch numpy \\
 && rm -rf /tmp/wheels
COPY src /opt/fashion
ENV PATH=/opt/team/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN useradd --create-home team
USER team
ENTRYPOINT ["python", "{SCRIPT}"]
"""
LOAD = "import torch; kept = torch.load('fashion.pt'); print(kept['epoch'], len(kept['model']))"


@pytest.fixture
def site(lab: Lab, cli: Cli, registry: LabHost, special: Callable[..., LabHost]) -> Iterator[LabCluster]:
    """Two hosts that have the data, but no image."""
    hosts = [special(name, engine=PULLER) for name in ("puller1", "puller2")]
    remove_all_images(*hosts)
    for host in hosts:
        put_fashion_mnist(host, DATA)
    found = LabCluster.write(
        lab, cli, hosts, image=USABLE, registry=f"{registry.address}:5000/team", mounts=[f"{DATA}:/data:ro"]
    )
    (found.folder / "code").mkdir()
    try:
        yield found
    finally:
        cli.close()
        found.run("down", "-i", found.inventory, "-y", "--discard", env=environment(registry))
        remove_all_images(*hosts, registry)
        for host in hosts:
            host.exec(["rm", "-rf", DATA])
    assert cluster_leftovers(hosts, found.cluster) == {}


def build_own_image(folder: Path, registry: LabHost) -> None:
    """Build the team's image, as `docker build` does it."""
    registry.load(BASE)
    (folder / "wheels").mkdir(parents=True)
    download_wheels(folder / "wheels")
    shutil.copytree(REPOSITORY / "examples" / "torch", folder / "src", ignore=shutil.ignore_patterns("data"))
    (folder / "Dockerfile").write_text(DOCKERFILE)
    words = ["docker", "build", "--network", "host", "--tag", OWN, str(folder)]
    built = subprocess.run(words, env={**os.environ, **environment(registry)}, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-3000:]


def download_wheels(folder: Path) -> None:
    """Download what the image's Python 3.11 needs, from where pip is configured to look on this machine."""
    machine = platform.machine()
    platforms = [f"--platform=manylinux_2_28_{machine}", f"--platform=manylinux2014_{machine}"]
    for_image = ["--python-version=3.11", "--only-binary=:all:", *platforms]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", f"--dest={folder}"]
    subprocess.run([*pip, *for_image, "torch==2.13.0", "numpy"], check=True)


def test_from_a_dockerfile_to_a_checkpoint_at_home(site: LabCluster, registry: LabHost, tmp_path: Path) -> None:
    controller = environment(registry, **LOGIN)
    build_own_image(tmp_path / "team", registry)
    assert site.run("image", "build", "--from", OWN, env=controller).out == f"{USABLE}\n"
    site.run("image", "check", USABLE, env=controller)
    site.run("image", "push", "-i", site.inventory, env=controller)
    wanted = image_ids([registry], USABLE)[registry.name]
    assert image_ids(site.hosts, USABLE) == {host.name: wanted for host in site.hosts}

    site.run("up", site.inventory, env=controller)
    # The script is in the image, as in many people's; the image says that it is PyTorch.
    arguments = ["--data_path", "/data", "--checkpoint_path", "/out/fashion.pt", "--log_path", "/out/logs"]
    command = ["python", SCRIPT, *arguments, "--epochs", "2", "--samples", "6000"]
    said = site.run("train", "--workdir", "code", "-np", "2", "--", *command, env=controller).out
    assert_two_hosts_have_one_model(site, said)
    assert losses(said)[2] < losses(said)[1] and accuracies(said)[2] > 0.65

    logs = site.run("logs", "--rank", "0", env=controller).out
    assert re.search("│ epoch 2 loss", logs) and "│ rank 1 of" not in logs
    home = fetch_outputs(site)
    assert run_in_image(TORCH_IMAGE, home, LOAD) == "2 8\n"
    assert len((home / "logs" / "metrics.jsonl").read_text().splitlines()) == 2
