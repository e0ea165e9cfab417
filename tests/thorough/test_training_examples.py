"""Examples that `make test` does not run, on two real hosts: FSDP, Lightning, Accelerate, JAX and MPI."""

import pytest

from tests.cluster.cli import Cli
from tests.cluster.examples import (
    TORCH_IMAGE,
    accuracies,
    accuracy,
    assert_two_hosts_have_one_model,
    example_cluster,
    fetch_outputs,
    losses,
    run_in_image,
    train,
)
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import SMALL_IMAGE

pytestmark = pytest.mark.training

ARGUMENTS = {"epochs": 2, "samples": 6000}
LOADED = "import torch; kept = torch.load('{}', weights_only=False); print(len(kept['state_dict']), kept['epoch'])"


def test_lightning(lab: Lab, cli: Cli) -> None:
    with example_cluster(lab, cli, TORCH_IMAGE, "lightning") as site:
        said = train(site, "lightning/train.py", "-np", "2", **ARGUMENTS)
        assert_two_hosts_have_one_model(site, said)
        assert losses(said)[2] < losses(said)[1] and accuracies(said)[2] > 0.65
        home = fetch_outputs(site)
        # Lightning counts epochs from 0.
        assert run_in_image(TORCH_IMAGE, home, LOADED.format("checkpoint.ckpt")) == "8 1\n"

        (home / "checkpoint.ckpt").rename(site.folder / "lightning" / "checkpoint.ckpt")
        more = train(site, "lightning/train.py", "-np", "2", epochs=3, samples=6000, checkpoint_path="checkpoint.ckpt")
        assert list(losses(more)) == [3]
        assert losses(more)[3] < losses(said)[2]
        assert_two_hosts_have_one_model(site, more)


def test_accelerate(lab: Lab, cli: Cli) -> None:
    with example_cluster(lab, cli, TORCH_IMAGE, "accelerate") as site:
        said = train(site, "accelerate/train.py", "-np", "2", **ARGUMENTS)
        assert_two_hosts_have_one_model(site, said)
        assert losses(said)[2] < losses(said)[1] and accuracies(said)[2] > 0.65
        code = "import torch; print(len(torch.load('model.pt')))"
        assert run_in_image(TORCH_IMAGE, fetch_outputs(site), code) == "8\n"


def test_fsdp_divides_the_weights_between_two_cpu_hosts(lab: Lab, cli: Cli) -> None:
    with example_cluster(lab, cli, TORCH_IMAGE, "torch") as site:
        said = train(site, "torch/fsdp.py", "-np", "2", epochs=2, samples=3000)
        for rank, host in enumerate(site.hosts):
            assert f"│ rank {rank} on hvd-{host.name} keeps 53061 of 106122 weights" in said
        assert losses(said)[2] < losses(said)[1]
        whole = run_in_image(
            TORCH_IMAGE,
            fetch_outputs(site),
            "import torch; print(sum(value.numel() for value in torch.load('checkpoint.pt')['model'].values()))",
        )
        assert whole == "106122\n"


def test_jax(lab: Lab, cli: Cli) -> None:
    with example_cluster(lab, cli, SMALL_IMAGE, "jax") as site:
        said = train(site, "jax/train.py", "-np", "2", "--launcher", "jax", **ARGUMENTS)
        assert_two_hosts_have_one_model(site, said)
        assert losses(said)[2] < losses(said)[1] and accuracy(said) > 0.65
        code = "import numpy; print(sum(value.size for value in numpy.load('model.npz').values()))"
        assert run_in_image(TORCH_IMAGE, fetch_outputs(site), code) == "101770\n"


def test_mpi(lab: Lab, cli: Cli) -> None:
    with example_cluster(lab, cli, SMALL_IMAGE, "mpi") as site:
        said = train(site, "mpi/train.py", "-np", "2", "--launcher", "mpi", **ARGUMENTS)
        assert_two_hosts_have_one_model(site, said)
        assert losses(said)[2] < losses(said)[1] and accuracy(said) > 0.65
        code = "import numpy; print(sum(value.size for value in numpy.load('model.npz').values()))"
        assert run_in_image(TORCH_IMAGE, fetch_outputs(site), code) == "101770\n"
