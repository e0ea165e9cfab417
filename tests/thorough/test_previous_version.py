"""A cluster and jobs of the previous version, 0.1.0: this version recognises, shows and takes them down.

The previous version is built from its commit. A clone without that commit (a shallow one) fails the test, and says what
to fetch: the test is never skipped."""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.cli import REPOSITORY, Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster

# The last commit on the main line whose version is 0.1.0. Its images speak the same format.
COMMIT = "c82a1070985375cf81fb99529f5affc40431b0e9"
VERSION = "0.1.0"
WRITES = "echo said; echo kept > $HVDOCKER_OUTPUT_DIR/kept.txt"


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the previous version, installed from its wheel."""
    folder = tmp_path_factory.mktemp("previous")
    # In a copy of the repository another user may own it; git then reads it only if it is told so.
    git = ["git", "-c", f"safe.directory={REPOSITORY}", "-C", str(REPOSITORY)]
    packed = subprocess.run([*git, "archive", COMMIT], capture_output=True)
    assert packed.returncode == 0, (
        f"{VERSION} is built from commit {COMMIT}, which this clone does not have "
        f"(git fetch --unshallow gets it): {packed.stderr.decode()}"
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder / "source", filter="data")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, folder / "source")
    (wheel,) = folder.glob(f"hvdocker-{VERSION}-*.whl")
    run(sys.executable, "-m", "venv", folder / "venv")
    run(folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
    return folder / "venv" / "bin" / "hvdocker"


def run(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def using(program: Path) -> Iterator[None]:
    """Let the tests' `cli` run that program instead of the one under test."""
    before = os.environ.get("HVDOCKER_BIN")
    os.environ["HVDOCKER_BIN"] = str(program)
    try:
        yield
    finally:
        del os.environ["HVDOCKER_BIN"]
        if before is not None:
            os.environ["HVDOCKER_BIN"] = before


def test_it_is_recognised_shown_and_taken_down(lab: Lab, cli: Cli, previous: Path) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(2))
    with using(previous):
        assert site.run("--version").out == f"hvdocker {VERSION}\n"
        site.up()
        site.run("train", "-np", "2", "--", "sh", "-c", WRITES)
        site.run("train", "-np", "2", "-d", "--", "sleep", "1000")
    assert {site.inspect_worker(host)["Config"]["Labels"]["hvdocker.version"] for host in site.hosts} == {VERSION}
    assert VERSION not in site.run("--version").out

    status = site.status()
    assert [(host["name"], host["state"]) for host in status["hosts"]] == [("h1", "running"), ("h2", "running")]
    jobs = {job["job"].partition("-")[0]: job for job in json.loads(site.run("jobs", "--json").out)["jobs"]}
    assert {name: job["state"] for name, job in jobs.items()} == {"sh": "succeeded", "sleep": "running"}
    ended, running = jobs["sh"]["job"], jobs["sleep"]["job"]
    assert site.run("logs", ended).out.count("│ said") == 2

    site.run("stop", running)
    site.run("down", "-y")
    (kept,) = site.folder.glob(f".hvdocker/jobs/{ended}/out/kept.txt")
    assert kept.read_text() == "kept\n"
    assert cluster_leftovers(site.hosts, site.cluster) == {}


def test_its_local_cluster_goes_too(cli: Cli, previous: Path) -> None:
    folder = cli.cwd / "rehearsal-of-the-previous-version"
    folder.mkdir()
    with using(previous):
        cli.run("up", "--local", "2", "--image", "doc-hvd:base", cwd=folder, check=0)
    status = json.loads(cli.run("status", "--json", cwd=folder, check=0).out)
    assert [host["state"] for host in status["hosts"]] == ["running", "running"]
    cli.run("down", cwd=folder, check=0)
    label = f"label=hvdocker.cluster={folder.name}"
    left = subprocess.run(["docker", "ps", "-aq", "--filter", label], capture_output=True, text=True, check=True)
    assert left.stdout == "" and not (cli.home / ".hvdocker").exists()
