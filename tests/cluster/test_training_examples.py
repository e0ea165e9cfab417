"""The examples for PyTorch and for sweeps on two real hosts, as their READMEs tell people to run them."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.examples import (
    TORCH_IMAGE,
    accuracies,
    assert_two_hosts_have_one_model,
    example_cluster,
    fetch_outputs,
    losses,
    run_in_image,
    train,
)
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster

pytestmark = pytest.mark.training

SAMPLES = 6000
DDP = ("torch/train.py", "-np", "2")
LOAD = (
    "import torch; kept = torch.load('{}'); print(kept['epoch'], len(kept['model']), len(kept['optimizer']['state']))"
)
# A path in the code folder outlives jobs.
KEPT = {"checkpoint_path": "checkpoints/mnist.pt", "log_path": "checkpoints"}


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    with example_cluster(lab, desk, TORCH_IMAGE, "torch", "sweep") as found:
        yield found


@pytest.fixture(scope="module")
def first(site: LabCluster) -> str:
    return train(site, *DDP, epochs=2, samples=SAMPLES, **KEPT)


def test_ddp_trains_one_model_on_two_hosts(site: LabCluster, first: str) -> None:
    assert_two_hosts_have_one_model(site, first)
    assert losses(first)[2] < losses(first)[1]
    assert accuracies(first)[2] > 0.65


def test_a_later_job_continues_from_the_checkpoint(site: LabCluster, first: str) -> None:
    second = train(site, *DDP, epochs=3, samples=SAMPLES, **KEPT)
    assert "│ continue after epoch 2 from checkpoints/mnist.pt" in second
    assert list(losses(second)) == [3]
    assert losses(second)[3] < losses(first)[2]
    assert_two_hosts_have_one_model(site, second)


def test_the_checkpoint_and_the_log_of_a_job_come_home(site: LabCluster) -> None:
    said = train(site, *DDP, epochs=1, samples=1000)
    home = fetch_outputs(site)
    assert run_in_image(TORCH_IMAGE, home, LOAD.format("checkpoint.pt")) == "1 8 8\n"
    (line,) = (home / "metrics.jsonl").read_text().splitlines()
    assert json.loads(line)["loss"] == pytest.approx(losses(said)[1], abs=0.0001)


def test_a_sweep_of_six_runs_on_two_slots_ends_with_a_table(site: LabCluster) -> None:
    said = train(site, "sweep/train.py", "-np", "6", "--launcher", "each", trial="{rank}", samples=SAMPLES)
    assert all(f"│ trial {trial}: " in said for trial in range(6))
    table = subprocess.run(
        [sys.executable, site.folder / "sweep" / "table.py", fetch_outputs(site)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    heading, *rows = [line.split() for line in table.splitlines()]
    assert heading == ["trial", "rate", "width", "loss", "accuracy", "seconds", "host"]
    assert sorted(row[0] for row in rows) == ["0", "1", "2", "3", "4", "5"]
    found = [float(row[4]) for row in rows]
    assert found == sorted(found, reverse=True) and found[0] > 0.7
    assert {row[6] for row in rows} == {host.name for host in site.hosts}
