"""`--dry-run` touches nothing; `--dry-run --script` is the same plan for bash."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, snapshot
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster


class Watch:
    """What the engines of some hosts have done since the watch began."""

    def __init__(self, hosts: list[LabHost]) -> None:
        self._since = {host: host.exec("date +%s.%N").strip() for host in hosts}

    def events(self) -> dict[str, list[str]]:
        return {host.name: self._of(host, since) for host, since in self._since.items()}

    def _of(self, host: LabHost, since: str) -> list[str]:
        until = host.exec("date +%s.%N").strip()
        shown = host.docker("events", "--since", since, "--until", until, "--format", "{{.Type}} {{.Action}}")
        return shown.splitlines()


def test_a_dry_run_touches_nothing(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(2))
    before, watch = snapshot(site.hosts, with_folder_times=True), Watch(site.hosts)
    result = site.run("up", site.inventory, "--dry-run")
    assert watch.events() == {"h1": [], "h2": []}
    assert snapshot(site.hosts, with_folder_times=True) == before
    assert sorted(path.name for path in site.folder.iterdir()) == ["inventory.yaml"]
    for host in site.hosts:
        assert re.search(rf"{host.name} +create hvdocker-lab-worker .*{host.address}", result.out)
    # The same eyes see a real run.
    site.up()
    assert all("container create" in events for events in watch.events().values())
    assert snapshot(site.hosts, with_folder_times=True) != before

    before, watch = snapshot(site.hosts, with_folder_times=True), Watch(site.hosts)
    assert site.run("up", site.inventory, "--dry-run").out.startswith("nothing to do")
    site.run("down", "--dry-run")
    assert watch.events() == {"h1": [], "h2": []}
    assert snapshot(site.hosts, with_folder_times=True) == before
    site.down()


def test_a_dry_run_of_train_touches_nothing(lab: Lab, cli: Cli) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(2))
    site.up()
    (site.folder / "train.py").write_text("")
    before, watch = snapshot(site.hosts, with_folder_times=True), Watch(site.hosts)
    result = site.run("train", "train.py", "--dry-run")
    assert watch.events() == {"h1": [], "h2": []}
    assert snapshot(site.hosts, with_folder_times=True) == before
    assert re.search(r"h1 +sync ", result.out) and re.search(r"h2 +sync ", result.out)
    assert re.search(r"h1 +create hvdocker-lab-train-", result.out)
    site.down()


@pytest.mark.parametrize("user", ["trainer", "root", "sudoer"])
def test_the_script_of_a_dry_run_makes_a_cluster_that_up_finds_complete(lab: Lab, cli: Cli, user: str) -> None:
    site = LabCluster.write(lab, cli, lab.fresh(2), user=user)
    script = site.run("up", site.inventory, "--dry-run", "--script").out
    assert "PRIVATE KEY" not in script
    run_by_bash(lab, site, script)
    assert site.run("up", site.inventory).out == "nothing to do: lab is up on 2 hosts\n"
    assert site.logins() == site.full_mesh()

    site.hosts[1].docker("rm", "-f", site.worker)
    run_by_bash(lab, site, site.run("up", site.inventory, "--dry-run", "--script").out)
    assert site.run("up", site.inventory).out == "nothing to do: lab is up on 2 hosts\n"
    assert site.logins() == site.full_mesh()

    run_by_bash(lab, site, site.run("down", "--dry-run", "--script").out)
    assert cluster_leftovers(site.hosts, "lab") == {}
    assert site.down().out.startswith("nothing to do")


def run_by_bash(lab: Lab, site: LabCluster, script: str) -> None:
    """ssh finds the person's known_hosts by the password file, not by HOME: a shim names the test's."""
    shims = site.cli.cwd / "shims"
    shims.mkdir(exist_ok=True)
    options = f"-F none -o BatchMode=yes -o UserKnownHostsFile={lab.state.known_hosts}"
    (shims / "ssh").write_text(f'#!/bin/sh\nexec {_real_ssh()} {options} "$@"\n')
    (shims / "ssh").chmod(0o755)
    env = {**os.environ, "PATH": f"{shims}:{os.environ['PATH']}", "TMPDIR": str(site.cli.cwd)}
    done = subprocess.run(["bash", "-c", script], cwd=site.folder, env=env, capture_output=True, text=True)
    print(script, done.stdout, done.stderr, sep="\n---\n")
    assert done.returncode == 0
    assert list(site.cli.cwd.glob("tmp.*")) == []


def _real_ssh() -> Path:
    folders = os.environ["PATH"].split(os.pathsep)
    return next(path for folder in folders if (path := Path(folder) / "ssh").exists())
