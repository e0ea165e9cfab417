"""The commands of the README, on two hosts that ~/.ssh/config names as the README does."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.digits import write_digits
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.documentation import ROOT, ConsoleBlock, console_blocks

pytestmark = pytest.mark.training

ALIASES = ("gpu-a", "gpu-b")
FIRST = "hvdocker init --hosts gpu-a,gpu-b"
ALIAS = "Host {alias}\n  HostName {host.address}\n  User trainer\n  IdentityFile {key}\n"


def quickstart(page: Path) -> ConsoleBlock:
    (found,) = (block for block in console_blocks(page) if block.commands[0].line.startswith(FIRST))
    return found


def name_hosts(lab: Lab, cli: Cli, hosts: list[LabHost]) -> None:
    """Write ~/.ssh/config with the README's names for the hosts. Their keys stand in known_hosts by address."""
    named = zip(ALIASES, hosts, strict=True)
    entries = "".join(ALIAS.format(alias=alias, host=host, key=lab.state.key) for alias, host in named)
    (cli.home / ".ssh" / "config").write_text(entries)


def test_the_commands_of_the_readme_train_on_two_hosts(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    name_hosts(lab, cli, hosts)
    folder = cli.cwd / "lab"
    folder.mkdir()
    shutil.copy(ROOT / "examples" / "mnist" / "train.py", folder)
    write_digits(folder / "digits.npz")
    try:
        for command in quickstart(ROOT / "README.md").commands:
            done = cli.run(*command.words[1:], cwd=folder, check=0)
            if command.words[1] == "train":
                assert "accuracy" in done.out
    finally:
        cli.run("down", "-y", "--discard", cwd=folder)
    (job,) = (folder / ".hvdocker" / "jobs").iterdir()
    assert (job / "out" / "model.keras").is_file()
    capsule = json.loads((job / "capsule.json").read_text())
    assert {share["host"] for share in capsule["placement"]} == set(ALIASES)
    assert cluster_leftovers(hosts, "lab") == {}
