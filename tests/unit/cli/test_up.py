"""hvdocker up and config never take another cluster than the one that was meant; no host is asked."""

from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.unit.cli.installed_cli import installed_cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = installed_cli(tmp_path)
    for name in ("inventory", "other"):
        (cli.cwd / f"{name}.yaml").write_text(f"cluster: {name}\nhosts: [127.0.0.1]\n")
    return cli


def test_no_hosts_do_not_mean_the_inventory_of_the_folder(cli: Cli) -> None:
    result = cli.run("up", "--hosts", ",,", check=2)
    assert "--hosts names no host" in result.err and "→" in result.err


@pytest.mark.parametrize("verb", ["up", "config"])
def test_two_inventories_are_refused(cli: Cli, verb: str) -> None:
    result = cli.run(verb, "inventory.yaml", "-i", "other.yaml", check=2)
    assert "an inventory and -i exclude each other" in result.err
