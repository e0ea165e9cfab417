"""What a job was made of: kept on its hosts and at home, run again with the code of then, and compared."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.training import training_cluster

pytestmark = pytest.mark.training

LAUNCHERS: tuple[str, ...] = ("each",)  # the others: tests/thorough

FIRST = 'import os\nprint("first", os.environ["COLOUR"], flush=True)\n'
SECOND = 'import os\nprint("second", os.environ["COLOUR"], flush=True)\n'


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli, launcher: LauncherCase) -> Iterator[LabCluster]:
    with training_cluster(lab, desk, launcher=launcher) as made:
        folder = made.folder / "code"
        git(folder, "init", "--quiet", "--initial-branch", "main")
        (folder / "say.py").write_text("print('committed')\n")
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "a beginning")
        yield made


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=someone", "-c", "user.email=someone@lab")
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def trained(site: LabCluster, verb: str, *words: str) -> tuple[str, str]:
    """The job, and what it printed."""
    job = site.run(verb, "-d", *words).out.strip()
    return job, site.run("logs", "-f", job).out


def home(site: LabCluster, job: str) -> Path:
    return site.folder / ".hvdocker" / "jobs" / job


def test_a_job_is_run_again_with_its_code_and_compared(site: LabCluster, tmp_path: Path) -> None:
    script = site.folder / "code" / "say.py"
    script.write_text(FIRST)
    first, said = trained(site, "train", "code/say.py", "-np", "2", "--env", "COLOUR=red")
    assert said.count("first red") == 2

    text = (home(site, first) / "capsule.json").read_text()
    capsule = json.loads(text)
    for host in site.hosts:
        folder = f"{site.folder_on(host)}/jobs/{first}"
        assert host.exec(f"cat {folder}/capsule.json") == text
        assert '+print("first"' in host.exec(f"cat {folder}/code.patch")
    assert capsule["code"]["git"]["commit"] == git(script.parent, "rev-parse", "HEAD").strip()
    assert capsule["env"]["COLOUR"] == "red" and capsule["np"] == 2
    assert [share["address"] for share in capsule["placement"]] == [host.address for host in site.hosts]

    script.write_text(SECOND)
    second, said = trained(site, "train", "code/say.py", "-np", "2", "--env", "COLOUR=blue")
    assert said.count("second blue") == 2
    again, said = trained(site, "replay", first)
    assert said.count("first red") == 2
    assert json.loads((home(site, again) / "capsule.json").read_text())["replay_of"] == first

    told = site.run("diff", first, second).out
    assert "say.py" in told and "COLOUR" in told and "red" in told and "blue" in told
    found = json.loads(site.run("diff", first, second, "--json").out)
    assert [change["path"] for change in found["files"]] == ["say.py"]
    assert [outcome["state"] for outcome in found["outcomes"]] == ["succeeded"] * 2
    assert site.run("diff", first, again).out.startswith(f"{first} and {again}: no difference but")

    # Another laptop: the same inventory, a clone of the code, and nothing of the job.
    other = tmp_path / "elsewhere"
    git(tmp_path, "clone", "--quiet", str(script.parent), str(other))
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(site.inventory.read_text())
    job = site.cli.run("replay", first, "-d", "-i", inventory, cwd=other, check=0).out.strip()
    assert site.run("logs", "-f", job).out.count("first red") == 2


def test_code_that_is_nowhere_any_more_is_named(site: LabCluster) -> None:
    """No repository has it, and the folder has changed."""
    folder = site.folder / "loose"
    folder.mkdir()
    (folder / "say.py").write_text("print('then')\n")
    job, _ = trained(site, "train", "loose/say.py", "-np", "1")
    (folder / "say.py").write_text("print('now')\n")
    result = site.run("replay", job, check=1)
    assert "cannot be run again with the same code" in result.err
    assert f"{folder}: its files are others now" in result.err
    assert "in no git repository" in result.err


def test_hooks_know_the_job_and_how_it_ended(site: LabCluster) -> None:
    folder = site.folder / ".hvdocker" / "hooks"
    folder.mkdir()
    for name in ("pre-train", "post-train", "on-failure"):
        path = folder / name
        path.write_text('#!/bin/sh\necho "${0##*/} ${HVDOCKER_JOB-} ${HVDOCKER_EXIT_CODE-}" >> told\n')
        path.chmod(0o755)
    site.run("train", "-np", "1", "--", "false", check=100)
    site.run("train", "-np", "1", "--skip-hooks", "--", "true")
    (job,) = [path.name for path in (site.folder / ".hvdocker" / "jobs").glob("false-*")]
    told = (site.folder / "told").read_text().splitlines()
    assert told == ["pre-train  ", f"post-train {job} 100", f"on-failure {job} 100"]
