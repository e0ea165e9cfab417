"""The rows of the benchmark: what is measured, against what, and the bar. Real hosts of the lab."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hvdocker.commands.command import command
from hvdocker.hosts.pool import each
from hvdocker.hosts.ssh import SshLink, open_ssh
from hvdocker.model.inventory import Host, SshSettings
from tests.cluster.lab import Lab, LabHost

Work = Callable[[], None]
IMAGE = "doc-hvd:base"
USER = "trainer"


@dataclass(frozen=True)
class Row:
    name: str
    against: str
    bar: float
    prepared: Callable[[list[LabHost]], AbstractContextManager[tuple[Work, Work]]]


def bench_hosts(count: int) -> list[LabHost]:
    """Fresh hosts, and a home in which OpenSSH, docker and we find the same keys."""
    lab = Lab.attach()
    hosts = lab.ensure(count)
    home = Path(tempfile.mkdtemp(prefix="hvdocker-bench-"))
    (home / ".ssh").mkdir(mode=0o700)
    (home / ".ssh" / "known_hosts").write_bytes(lab.state.known_hosts.read_bytes())
    config = f"Host 198.18.*\n  User {USER}\n  IdentityFile {hosts[0].key(USER)}\n  BatchMode yes\n"
    config += f"  UserKnownHostsFile {home}/.ssh/known_hosts\n"
    (home / ".ssh" / "config").write_text(config, encoding="utf-8")
    os.environ["HOME"] = str(home)
    # OpenSSH takes its home from the user database: docker's own ssh is told where its config lies.
    shim = home / "bin" / "ssh"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {home}/.ssh/config "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    os.environ["PATH"] = f"{shim.parent}:{os.environ['PATH']}"
    os.environ.pop("SSH_AUTH_SOCK", None)
    return hosts


def _link(host: LabHost) -> SshLink:
    return open_ssh(Host(host.name, host.address, ssh=SshSettings(user=USER, key=str(host.key(USER)))))


def _ssh(host: LabHost, *words: str) -> list[str]:
    return ["ssh", host.address, *words]


def _connect(count: int) -> Callable[[list[LabHost]], AbstractContextManager[tuple[Work, Work]]]:
    @contextmanager
    def prepared(hosts: list[LabHost]) -> Iterator[tuple[Work, Work]]:
        chosen = {host.name: host for host in hosts[:count]}

        def one(name: str) -> None:
            link = _link(chosen[name])
            assert link.run(command("true")).code == 0
            link.close()

        def theirs() -> None:
            processes = [subprocess.Popen(_ssh(host, "true")) for host in chosen.values()]
            assert all(process.wait() == 0 for process in processes)

        yield lambda: each(chosen, one).or_raise("bench") and None, theirs

    return prepared


@contextmanager
def _container(hosts: list[LabHost]) -> Iterator[tuple[Work, Work]]:
    host = hosts[0]
    if not host.has_image(IMAGE):
        host.load(IMAGE)

    def ours() -> None:
        link = _link(host)
        engine = link.engine()
        made = engine.create_container(IMAGE, ["sleep", "60"])["Id"]
        engine.start(made)
        link.close()

    def theirs() -> None:
        words = ["docker", "-H", f"ssh://{USER}@{host.address}", "run", "-d", IMAGE, "sleep", "60"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    yield ours, theirs
    host.reset()


@contextmanager
def _call(hosts: list[LabHost]) -> Iterator[tuple[Work, Work]]:
    link = _link(hosts[0])
    engine = link.engine()
    # The docker CLI on the host itself, started over a warm connection of OpenSSH.
    control = f"{os.environ['HOME']}/control"
    warm = [*_ssh(hosts[0])[:-1], "-o", f"ControlPath={control}", hosts[0].address]
    subprocess.run(
        [*warm[:-1], "-o", "ControlMaster=yes", "-o", "ControlPersist=600", warm[-1], "true"], check=True
    )

    def theirs() -> None:
        subprocess.run([*warm, "docker", "ps", "-q"], check=True, stdout=subprocess.DEVNULL)

    yield lambda: engine.containers() and None, theirs
    subprocess.run([*warm[:-1], "-O", "exit", warm[-1]], check=True, stderr=subprocess.DEVNULL)
    link.close()


ROWS = (
    Row("connect and run, 1 host", "ssh, cold", 0.35, _connect(1)),
    Row("connect and run, 8 hosts", "ssh, cold, in parallel", 0.35, _connect(8)),
    Row("container over SSH, cold", "docker -H ssh:// run -d", 0.25, _container),
    Row("next Docker call on an open link", "docker ps there, warm ssh", 0.3, _call),
)
