"""hvdocker config through the installed program; no host of these is there, and none is asked."""

import json
import resource
import subprocess
from pathlib import Path

import pytest

from hvdocker.inventory.inventory import SshSettings
from hvdocker.inventory.parse import parse
from hvdocker.inventory.schema import schema_text
from tests.cluster.cli import Cli, binary
from tests.unit.cli.installed_cli import installed_cli
from tests.unit.inventory.mutations import FIXTURES

INVENTORY = """\
cluster: lab
ssh: {port: 2200, key: keys/lab}
env: {WANDB_API_KEY: s3cret, PROXY: "http://kim:s3cret@proxy:1", SEED: 7}
shm: 1GB
hosts:
  - gpu-a
  - {host: root@gpu-b, slots: 4, ssh: {port: 22}}
"""
# The nastiest of the finds, through the whole program.
NASTY = sorted(path for path in (FIXTURES / "fuzzed").glob("*.yaml") if not path.stem.startswith("right-"))[::2]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = installed_cli(tmp_path)
    (cli.home / ".ssh" / "config").write_text("Host gpu-a\n  HostName 10.0.0.1\n  User kim\n  Port 7\n")
    (cli.cwd / "lab.yaml").write_text(INVENTORY)
    return cli


def test_every_setting_with_where_it_comes_from(cli: Cli) -> None:
    text = cli.run("config", "lab.yaml", check=0).out
    for line in (
        f"# {cli.cwd}/lab.yaml: named on the command line",
        "cluster: lab  # line 1",
        "# image: doc-hvd:gpu where hosts have GPUs, else doc-hvd:cpu",
        "shm: 1GB  # line 4",
        "# memory: no limit",
        "    # reached as 10.0.0.1: HostName in ~/.ssh/config",
        "      user: kim  # ~/.ssh/config",
        "      port: 2200  # ssh/port (line 2)",
        f"      key: {cli.cwd}/keys/lab  # ssh/key (line 2)",
        "      user: root  # hosts/1 (line 7)",
        "      port: 22  # hosts/1/ssh/port (line 7)",
        "      handshake_timeout: 30  # default",
    ):
        assert f"{line}\n" in text
    [a, b] = parse(text, "config", "other").hosts
    key = f"{cli.cwd}/keys/lab"
    assert a.ssh == SshSettings("kim", 2200, key, handshake_timeout=30)
    assert b.ssh == SshSettings("root", 22, key, handshake_timeout=30)


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_secrets_are_hidden(cli: Cli, flags: tuple[str, ...]) -> None:
    text = cli.run("config", "-i", "lab.yaml", *flags, check=0).out
    assert "s3cret" not in text and "http://kim:***@proxy:1" in text and "SEED" in text


def test_json(cli: Cli) -> None:
    view = json.loads(cli.run("config", "lab.yaml", "--json", check=0).out)
    assert view["why"] == "named on the command line"
    assert view["env"] == {"WANDB_API_KEY": "***", "PROXY": "http://kim:***@proxy:1", "SEED": "7"}
    assert view["hosts"][0]["ssh"]["user"] == {"value": "kim", "from": "~/.ssh/config"}
    assert view["hosts"][0]["ssh"]["hostname"] == "10.0.0.1"
    assert view["hosts"][1]["slots"] == 4


def test_which_inventory_and_why(cli: Cli) -> None:
    assert "there is no cluster here" in cli.run("config", check=2).err
    by_variable = cli.run("config", env={"HVDOCKER_INVENTORY": "lab.yaml"}, check=0)
    assert "lab.yaml: named by HVDOCKER_INVENTORY\n" in by_variable.out
    (cli.cwd / "inventory.yaml").write_text("local: 2\n")
    assert "inventory.yaml: found in this folder\n" in cli.run("config", check=0).out
    (cli.cwd / ".hvdocker").mkdir()
    (cli.cwd / ".hvdocker" / "current.json").write_text('{"inventory": "lab.yaml"}')
    (cli.cwd / "below").mkdir()
    pointed = cli.run("config", cwd=cli.cwd / "below", check=0)
    assert f"lab.yaml: the current one, says {cli.cwd}/.hvdocker/current.json\n" in pointed.out


def test_local_workers(cli: Cli) -> None:
    (cli.cwd / "inventory.yaml").write_text("local: 2\n")
    text = cli.run("config", check=0).out
    assert "local: 2  # line 1\n" in text and "hosts:" not in text
    assert json.loads(cli.run("config", "--json", check=0).out)["local"] == 2


def test_a_broken_ssh_config_is_named(cli: Cli) -> None:
    (cli.home / ".ssh" / "config").write_text("nonsense\n")
    result = cli.run("config", "lab.yaml", check=2)
    assert "/.ssh/config line 1 cannot be understood" in result.err and "nonsense" in result.err


def test_the_schema(cli: Cli) -> None:
    assert cli.run("config", "--schema", check=0).out == schema_text()


def test_the_schema_is_installed_with_the_package() -> None:
    where = "import hvdocker, pathlib; print(pathlib.Path(hvdocker.__file__).parent)"
    python = Path(binary()).with_name("python")
    done = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True, cwd="/")
    assert (Path(done.stdout.strip()) / "inventory" / "inventory.schema.json").read_text() == schema_text()


def test_an_inventory_in_a_pipe(cli: Cli) -> None:
    text = "ssh: {key: keys/lab}\nhosts: [gpu-a]\n"
    told = cli.run("config", "/dev/stdin", input=text, check=0).out
    assert "# the inventory from a pipe: named on the command line\n" in told and f"key: {cli.cwd}/keys/lab" in told
    assert "cluster: work  # default\n" in told


def test_a_device_without_end_is_no_inventory(cli: Cli) -> None:
    assert "it has more than 1.0 MB" in cli.run("config", "/dev/zero", check=2).err


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.stem)
def test_nasty_inventories_end_with_2_and_few_words(cli: Cli, path: Path) -> None:
    """In 1 GiB of memory; a guard, not a measurement."""
    done = subprocess.run(
        [binary(), "config", path],
        cwd=cli.cwd,
        env=cli.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and len(done.stderr) < 10_000
    assert "Traceback" not in done.stderr and "\x1b" not in done.stderr
