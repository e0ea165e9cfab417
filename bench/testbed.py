"""Where the benchmark runs: real hosts of the lab, and a home folder in which OpenSSH, docker and hvdocker
find the same keys. Hosts are created when the first benchmark asks for them: some need none."""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.transport.pool import for_each_host
from hvdocker.transport.ssh.link import SshLink, open_ssh
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import in_parallel

HOSTS = 8
USER = "trainer"
SMALL_IMAGE = "doc-hvd:base"
TRAINING_IMAGE = "doc-hvd:cpu"
TORCH_IMAGE = "doc-hvd:torch-cpu"
REPOSITORY = Path(__file__).parents[1]


class BenchError(Exception):
    """A candidate failed, so its time would mean nothing."""


@dataclass
class Testbed:
    """Lab hosts, the SSH configuration for them, and the programs that candidates run."""

    folder: Path
    peers: Path = REPOSITORY / ".venv-bench"
    openssh: str = field(default_factory=lambda: shutil.which("ssh") or "ssh")
    _lab: Lab | None = None
    _hosts: list[LabHost] = field(default_factory=list)

    @classmethod
    @contextmanager
    def open(cls) -> Iterator["Testbed"]:
        with tempfile.TemporaryDirectory(prefix="hvdocker-bench-") as name:
            ground = cls(Path(name))
            yield ground
            in_parallel(LabHost.reset, ground._hosts)

    @property
    def binary(self) -> str:
        return os.environ.get("HVDOCKER_BIN", str(Path(sys.executable).with_name("hvdocker")))

    @property
    def lab(self) -> Lab:
        if self._lab is None:
            self._lab = Lab.attach()
        return self._lab

    @property
    def ssh_config(self) -> Path:
        return self.folder / "home" / ".ssh" / "config"

    def hosts(self, count: int = HOSTS, image: str | None = SMALL_IMAGE) -> list[LabHost]:
        """Return lab hosts with nothing on them but images; `image` is loaded on each unless it is None."""
        hosts = self.lab.fresh(count)
        if len(hosts) > len(self._hosts):
            self._hosts = hosts
        self._write_ssh_home()
        if image:
            for host in hosts:
                host.load(image)
        return hosts

    def _write_ssh_home(self) -> None:
        """Write the home folder with the SSH configuration, and make this process and its children use it.

        OpenSSH ignores HOME and takes the home folder from the user database. Programs that start `ssh`
        themselves, such as docker, therefore find a wrapper first on the PATH that passes `-F`."""
        ssh = self.ssh_config.parent
        ssh.mkdir(mode=0o700, parents=True, exist_ok=True)
        (ssh / "known_hosts").write_bytes(self.lab.state.known_hosts.read_bytes())
        prefix = self._hosts[0].address.rpartition(".")[0]
        self.ssh_config.write_text(
            f"Host {prefix}.*\n  User {USER}\n  IdentityFile {self._hosts[0].key(USER)}\n  BatchMode yes\n"
            f"  UserKnownHostsFile {ssh}/known_hosts\n",
            encoding="utf-8",
        )
        shim = self.folder / "bin" / "ssh"
        if not shim.exists():
            shim.parent.mkdir()
            shim.write_text(f'#!/bin/sh\nexec {self.openssh} -F {self.ssh_config} "$@"\n', encoding="utf-8")
            shim.chmod(0o755)
            os.environ["PATH"] = f"{shim.parent}:{os.environ['PATH']}"
        os.environ["HOME"] = str(self.folder / "home")
        # paramiko logs to standard error; the CLI silences it in the same way.
        logging.getLogger("paramiko").setLevel(logging.CRITICAL)
        os.environ.pop("SSH_AUTH_SOCK", None)

    # For candidates

    def ssh(self, host: LabHost, *words: str, options: Sequence[str] = ()) -> list[str]:
        return [self.openssh, "-F", str(self.ssh_config), *options, host.address, *words]

    def link(self, host: LabHost) -> SshLink:
        return open_ssh(Host(host.name, host.address, ssh=SshSettings(user=USER, key=str(host.key(USER)))))

    @contextmanager
    def links(self, hosts: Sequence[LabHost]) -> Iterator[Mapping[str, SshLink]]:
        """Connect to all hosts in parallel, as a verb does; close the links at the end."""
        named = {host.name: host for host in hosts}
        opened = for_each_host(named, lambda name: self.link(named[name])).or_raise("connecting failed")
        try:
            yield opened
        finally:
            for link in opened.values():
                link.close()

    def inventory(self, hosts: Sequence[LabHost], image: str, cluster: str = "bench") -> Path:
        folder = self.folder / cluster
        folder.mkdir(exist_ok=True)
        return self.lab.write_inventory(folder / "inventory.yaml", hosts, user=USER, cluster=cluster, image=image)

    def hvdocker(self, *words: str | Path, cwd: Path | None = None, **variables: str) -> str:
        """Run the installed program as a user would; return its standard output."""
        return run([self.binary, *map(str, words)], cwd=cwd or self.folder, env={**os.environ, **variables})


def run(argv: Sequence[str], **how: Any) -> str:
    """Run a program to its end and return its standard output; raise BenchError if it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **how)
    if done.returncode != 0:
        raise BenchError(f"`{' '.join(argv)[:200]}` ended with {done.returncode}: {done.stderr[-800:]}")
    return done.stdout


def run_parallel(lines: Sequence[Sequence[str]], stdin: Sequence[Path] = ()) -> None:
    """Run processes in parallel, each with its own file as standard input if any are given."""
    files = [path.open("rb") for path in stdin]
    try:
        started = [
            subprocess.Popen(
                argv,
                stdin=files[number] if files else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number, argv in enumerate(lines)
        ]
        for argv, process in zip(lines, started, strict=True):
            _, said = process.communicate()
            if process.returncode != 0:
                raise BenchError(f"`{' '.join(argv)[:200]}` ended with {process.returncode}: {said[-800:]}")
    finally:
        for file in files:
            file.close()


def run_pipelines(sources: Sequence[str], targets: Sequence[Sequence[str]]) -> None:
    """Run `source | target` for every host, in parallel."""
    import shlex

    lines = [f"{source} | {shlex.join(target)}" for source, target in zip(sources, targets, strict=True)]
    run_parallel([["bash", "-o", "pipefail", "-c", line] for line in lines])
