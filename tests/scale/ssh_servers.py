"""Many SSH servers on loopback, without containers: real sshd processes with their own keys."""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.lab.wait import until

ADDRESS = "127.0.0.1"
PORTS_EACH = 16  # the most that one sshd can listen on
# Below the kernel's range of ephemeral ports.
FIRST_PORT, LAST_PORT = 20000, 32000
READY_S = 60


@dataclass(frozen=True)
class SshServers:
    """The ports of the servers, and a folder with their keys."""

    folder: Path
    ports: tuple[int, ...]

    @property
    def key(self) -> Path:
        return self.folder / "client"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"


@contextmanager
def ssh_servers(folder: Path, count: int) -> Iterator[SshServers]:
    """Run sshd on `count` loopback ports; the current user may log in with the key in the folder."""
    found = SshServers(folder, tuple(_free_ports(count)))
    _make_keys(found)
    servers: list[subprocess.Popen[bytes]] = []
    try:
        for first in range(0, count, PORTS_EACH):
            servers.append(_start(found, found.ports[first : first + PORTS_EACH]))
        for port in found.ports:
            until(lambda port=port: _answers(port) or None, f"the sshd of port {port} answers", READY_S)
        yield found
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()


def _free_ports(count: int) -> Iterator[int]:
    for port in range(FIRST_PORT, LAST_PORT):
        if count == 0:
            return
        with socket.socket() as probe:
            try:
                probe.bind((ADDRESS, port))
            except OSError:
                continue
        count -= 1
        yield port
    assert count == 0, "not enough free ports"


def _make_keys(found: SshServers) -> None:
    for name in ("client", "server"):
        path = found.folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    kind, key = (found.folder / "server.pub").read_text().split()[:2]
    found.known_hosts.write_text("".join(f"[{ADDRESS}]:{port} {kind} {key}\n" for port in found.ports))


def _start(found: SshServers, ports: tuple[int, ...]) -> subprocess.Popen[bytes]:
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    assert sshd, "no sshd on this machine: run tests/setup/sshd.sh"
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    config = found.folder / f"sshd-{ports[0]}.conf"
    config.write_text(
        "".join(f"ListenAddress {ADDRESS}:{port}\n" for port in ports)
        + f"HostKey {found.folder}/server\nAuthorizedKeysFile {found.folder}/client.pub\n"
        + f"AllowUsers {getpass.getuser()}\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n"
        + "KbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\nPidFile none\n"
        + "MaxStartups 1000\nUseDNS no\n"
        # The start-up files of the user's shell must not be measured.
        + f"SetEnv HOME={found.folder}\n"
    )
    with (found.folder / "sshd.log").open("ab") as log:
        return subprocess.Popen([sshd, "-D", "-e", "-f", config], stderr=log)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((ADDRESS, port), timeout=5) as link:
            return link.recv(4) == b"SSH-"
    except OSError:
        return False
