"""`hvdocker demo` on this machine's own engine: from nothing to a model at home, and given up in the middle."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab.wait import until
from tests.cluster.test_local import docker


@pytest.fixture
def folder(cli: Cli) -> Iterator[Path]:
    """The folder of the demo; a cluster that is left over is taken down at the end."""
    path = cli.cwd / "hvdocker-demo"
    yield path
    if (path / ".hvdocker" / "current.json").exists():
        cli.run("down", "-y", "--discard", cwd=path)


def made_by(folder: Path, role: str = "") -> list[str]:
    """Return the containers (with a role, only those) and networks of the cluster in that folder."""
    label = f"label=hvdocker.cluster={folder.name}"
    if role:
        return docker("ps", "-q", "--filter", label, "--filter", f"label=hvdocker.role={role}")
    return docker("ps", "-aq", "--filter", label) + docker("network", "ls", "-q", "--filter", label)


def test_the_demo_leaves_a_model_and_nothing_else(cli: Cli, folder: Path) -> None:
    told = cli.run("demo", check=0)
    shown = [line for line in told.err.splitlines() if line.startswith("$ ")]
    assert [line.split()[2] for line in shown] == ["up", "train", "fetch", "down"]
    (model,) = folder.glob(".hvdocker/jobs/*/out/model.npz")
    assert f"model     {model.relative_to(cli.cwd)}" in told.out and "images that no rank trained on" in told.out
    assert "hvdocker init" in told.err
    assert made_by(folder) == [] and not (cli.home / ".hvdocker").exists()


@pytest.mark.parametrize("role", ["worker", "master"])
def test_ctrl_c_takes_the_cluster_down(cli: Cli, folder: Path, role: str) -> None:
    """While `up` makes the workers, and while the job runs."""
    process = cli.start("demo")
    until(lambda: made_by(folder, role) or None, f"the demo has a {role}", 300)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "the demo was interrupted; its cluster is down" in err
    assert made_by(folder) == [] and not (cli.home / ".hvdocker").exists()
