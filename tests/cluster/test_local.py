"""A cluster on this machine's own engine, with no inventory."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab_cluster import SMALL_IMAGE


def docker(*words: str) -> list[str]:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.fixture
def folder(cli: Cli) -> Iterator[Path]:
    path = cli.cwd / "rehearsal"
    path.mkdir()
    yield path
    cli.run("down", "-y", "--discard", cwd=path)


def test_two_workers_here_and_then_nothing(cli: Cli, folder: Path) -> None:
    up = ("up", "--local", "2", "--image", SMALL_IMAGE)
    assert "2 hosts, 2 slots" in cli.run(*up, cwd=folder, check=0).out
    workers = docker("ps", "--filter", "label=hvdocker.cluster=rehearsal", "--format", "{{.Names}}")
    assert sorted(workers) == ["hvdocker-rehearsal-worker-w1", "hvdocker-rehearsal-worker-w2"]
    addresses = {host["address"] for host in json.loads(cli.run("status", "--json", cwd=folder, check=0).out)["hosts"]}
    assert len(addresses) == 2
    found = json.loads(cli.run("doctor", "--json", cwd=folder, check=0).out)
    checks = {(host["host"], one["check"]): one for host in found["hosts"] for one in host["checks"]}
    assert {key[0] for key in checks} == {"w1", "w2"} and "bad" not in {one["mark"] for one in checks.values()}
    assert checks["w2", "answers"]["shown"] == "this machine" and checks["w2", "worker"]["shown"] == "running"
    assert docker("ps", "-aq", "--filter", "label=hvdocker.role=doctor", "--filter", "name=rehearsal") == []
    assert "nothing to do" in cli.run(*up, cwd=folder, check=0).out
    cli.run("down", cwd=folder, check=0)
    for kind in (["ps", "-aq"], ["network", "ls", "-q"]):
        assert docker(*kind, "--filter", "label=hvdocker.cluster=rehearsal") == []
    assert not (cli.home / ".hvdocker").exists()
    assert not (folder / ".hvdocker").exists()


def test_workers_that_down_would_not_look_at_are_not_removed_unseen(cli: Cli, folder: Path) -> None:
    for count in ("2", "1"):
        cli.run("up", "--local", count, "--image", SMALL_IMAGE, cwd=folder, check=0)
    refused = cli.run("down", cwd=folder, check=2)
    assert "nothing was removed" in refused.err and "hvdocker up --local 2" in refused.err
    assert len(docker("ps", "-q", "--filter", "label=hvdocker.cluster=rehearsal")) == 2
    cli.run("up", "--local", "2", "--image", SMALL_IMAGE, cwd=folder, check=0)
    cli.run("down", cwd=folder, check=0)
    assert docker("ps", "-aq", "--filter", "label=hvdocker.cluster=rehearsal") == []
    assert not (cli.home / ".hvdocker").exists()


def test_another_owner_with_the_same_folder_name_takes_nothing_away(cli: Cli, folder: Path) -> None:
    cli.run("up", "--local", "1", "--image", SMALL_IMAGE, cwd=folder, check=0)
    for verb in (("up", "--local", "2", "--image", SMALL_IMAGE), ("down",)):
        refused = cli.run(*verb, cwd=folder, env={"HVDOCKER_OWNER": "somebody-else"}, check=1)
        assert "belongs to" in refused.err
    assert len(docker("ps", "-q", "--filter", "label=hvdocker.cluster=rehearsal")) == 1


def test_the_script_of_a_local_cluster_gives_one_that_up_finds_complete(cli: Cli, folder: Path) -> None:
    up = ("up", "--local", "2", "--image", SMALL_IMAGE)
    script = cli.run(*up, "--dry-run", "--script", cwd=folder, check=0).out
    subprocess.run(["bash"], input=script, text=True, env=cli.environment(), cwd=folder, check=True)
    assert "nothing to do" in cli.run(*up, cwd=folder, check=0).out
