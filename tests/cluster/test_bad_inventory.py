"""An inventory that cannot be right: every problem at once, with its line; no host is touched."""

import textwrap
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import untouched
from tests.cluster.lab import Lab

CASES = {
    "empty": ("", ["the file is empty", "hosts:"]),
    "only a comment": ("# nothing\n", ["the file is empty"]),
    "not YAML": ("hosts: [a\nport: 1\n", ["line 2", "not YAML"]),
    "no hosts": ("cluster: lab\n", ["hosts", "at least one host", "got nothing"]),
    "a list at the top": ("- 198.18.0.11\n", ["should be a mapping"]),
    "hosts is text": ("hosts: 198.18.0.11\n", ["hosts (line 1)", "a list of at least one host"]),
    "a host is a number": ("hosts: [12]\n", ["hosts/0 (line 1)", "should be a mapping", "got 12"]),
    "a host is empty": ("hosts:\n  -\n", ["hosts/0 (line 2)", "empty"]),
    "unknown key": (
        "imgae: x\nhosts: [198.18.0.11]\n",
        ["imgae (line 1)", "unknown key", "did you mean `image`"],
    ),
    "unknown key of a host": (
        "hosts:\n  - {host: 198.18.0.11, slot: 2}\n",
        ["hosts/0/slot (line 2)", "did you mean `slots`"],
    ),
    "duplicate key": (
        "port: 1\nhosts: [198.18.0.11]\nport: 2\n",
        ["port (line 3)", "this key stands twice, first on line 1"],
    ),
    "duplicate hosts": (
        "hosts: [198.18.0.11, 198.18.0.12, 198.18.0.11]\n",
        ["hosts/2 (line 1)", "198.18.0.11", "hosts/0"],
    ),
    "duplicate names": (
        "hosts:\n  - {host: 198.18.0.11, name: a}\n  - {host: 198.18.0.12, name: a}\n",
        ["hosts/1 (line 3)", "name 'a'", "hosts/0"],
    ),
    "duplicate training addresses": (
        "hosts:\n  - {host: 198.18.0.11, address: 10.0.0.1}\n  - {host: 198.18.0.12, address: 10.0.0.1}\n",
        ["hosts/1 (line 3)", "10.0.0.1"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_inventory_is_refused_with_the_place_of_the_problem(cli: Cli, name: str) -> None:
    text, fragments = CASES[name]
    (cli.cwd / "inventory.yaml").write_text(text)
    result = cli.run("up", "inventory.yaml", check=2)
    for fragment in ["inventory.yaml has 1 problem", *fragments]:
        assert fragment in result.err
    assert result.out == "" and not (cli.cwd / ".hvdocker").exists()


@pytest.mark.parametrize("port", ["0", "65536", "-1", "abc", "1.5", "true", "[1]"])
@pytest.mark.parametrize("where", ["port", "ssh/port", "hosts/0/ssh/port"])
def test_bad_ports_are_refused(cli: Cli, port: str, where: str) -> None:
    texts = {
        "port": f"port: {port}\nhosts: [198.18.0.11]\n",
        "ssh/port": f"ssh: {{port: {port}}}\nhosts: [198.18.0.11]\n",
        "hosts/0/ssh/port": f"hosts: [{{host: 198.18.0.11, ssh: {{port: {port}}}}}]\n",
    }
    (cli.cwd / "inventory.yaml").write_text(texts[where])
    result = cli.run("up", "inventory.yaml", check=2)
    assert f"{where} (line 1): should be " in result.err


def test_all_problems_are_told_at_once(lab: Lab, cli: Cli) -> None:
    (host,) = lab.fresh(1)
    text = f"""\
        cluster: "Not A Name"
        port: 70000
        network: 10.0.0.0/99
        ssh: [trainer]
        env: [A=1]
        mounts: ["data:/data"]
        shm: many
        memory: true
        cpus: 0
        user: somebody
        keys: {{private: mine}}
        colour: blue
        hosts:
          - {host.address}
          - {{host: "a b", slots: 0}}
          - {{name: nameless}}
    """
    (cli.cwd / "inventory.yaml").write_text(textwrap.dedent(text))
    with untouched(host):
        result = cli.run("up", "inventory.yaml", check=2)
    places = {line.strip().split(" (line")[0] for line in result.err.splitlines() if " (line " in line}
    wanted = "cluster port network ssh env mounts/0 shm memory cpus user keys colour hosts/1/host hosts/2"
    assert places == set(wanted.split())


def test_a_missing_inventory_is_named(cli: Cli) -> None:
    result = cli.run("up", "nowhere.yaml", check=2)
    assert f"there is no inventory {cli.cwd}/nowhere.yaml" in result.err and "→" in result.err


def test_an_unreadable_inventory_is_named_with_the_reason(cli: Cli) -> None:
    (cli.cwd / "folder.yaml").mkdir()
    assert "folder.yaml cannot be read: Is a directory" in cli.run("up", "folder.yaml", check=2).err
    (cli.cwd / "binary.yaml").write_bytes(b"hosts: [\xff\xfe]")
    assert "binary.yaml cannot be read" in cli.run("up", "binary.yaml", check=2).err


def test_no_inventory_at_all(cli: Cli, tmp_path: Path) -> None:
    result = cli.run("up", check=2)
    assert "there is no cluster here" in result.err and "hvdocker init" in result.err


def test_an_inventory_and_hosts_exclude_each_other(cli: Cli) -> None:
    (cli.cwd / "inventory.yaml").write_text("hosts: [198.18.0.11]\n")
    result = cli.run("up", "inventory.yaml", "--hosts", "198.18.0.12", check=2)
    assert "exclude each other" in result.err
