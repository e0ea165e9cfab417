"""How the cost of connecting, probing and syncing grows with the number of hosts: up to 500 real SSH servers
on loopback. Correctness and memory are asserted; seconds are printed, for people."""

import getpass
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scale.ssh_servers import ADDRESS, SshServers, ssh_servers

COUNTS = (10, 50, 100, 250, 500)
FILES = 20
# An open connection and its thread; and what work on all hosts may add, however many they are.
MOST_KB_PER_HOST = 300
MOST_MB_AT_WORK = 100
HEAD = "hosts  connect s  probe s  sync s  again s  ms/host  open MB  most MB  kB/host  threads"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServers]:
    with ssh_servers(tmp_path_factory.mktemp("scale"), max(COUNTS)) as found:
        yield found


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code")
    for number in range(FILES):
        (folder / f"module{number}.py").write_text(f"VALUE = {number}\n" * 50)
    return folder


@pytest.mark.parametrize("count", COUNTS)
def test_all_hosts_are_reached_probed_and_synced(
    servers: SshServers, code: Path, tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    took = visit(servers, servers.ports[:count], code, tmp_path)
    with capsys.disabled():
        print(f"\n{HEAD}\n{row(took)}" if count == COUNTS[0] else f"\n{row(took)}", end="")
    assert took["hosts"] == took["probed"] == count
    assert (took["files"], took["files_again"]) == (FILES * count, 0)
    assert len(list(tmp_path.glob("target/*/module0.py"))) == count
    assert per_host_kb(took) < MOST_KB_PER_HOST
    assert took["most_mb"] - took["open_mb"] < MOST_MB_AT_WORK


def visit(servers: SshServers, ports: tuple[int, ...], code: Path, folder: Path) -> dict[str, float]:
    home = folder / "home"
    (home / ".ssh").mkdir(mode=0o700, parents=True)
    (home / ".ssh" / "known_hosts").write_bytes(servers.known_hosts.read_bytes())
    (folder / "target").mkdir()
    order = {
        "user": getpass.getuser(),
        "key": str(servers.key),
        "address": ADDRESS,
        "ports": ports,
        "code": str(code),
        "target": str(folder / "target"),
    }
    kept = {name: value for name, value in os.environ.items() if name != "SSH_AUTH_SOCK"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.scale.measure_hosts"],
        input=json.dumps(order),
        env=kept | {"HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def per_host_kb(took: dict[str, float]) -> float:
    return (took["open_mb"] - took["before_mb"]) * 1024 / took["hosts"]


def row(took: dict[str, float]) -> str:
    count = int(took["hosts"])
    return (
        f"{count:>5}  {took['connect_s']:>9.2f}  {took['probe_s']:>7.2f}  {took['sync_s']:>6.2f}  "
        f"{took['resync_s']:>7.2f}  {1000 * took['connect_s'] / count:>7.1f}  {took['open_mb']:>7.0f}  "
        f"{took['most_mb']:>7.0f}  {per_host_kb(took):>7.0f}  {int(took['threads']):>7}"
    )
