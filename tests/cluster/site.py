"""A cluster under test: its hosts, the folder with its inventory, and the program that drives it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cli import Cli, Result
from tests.cluster.lab import Lab, LabHost

SMALL_IMAGE = "doc-hvd:base"
SSH_FOLDER = "/run/hvdocker/ssh"


@dataclass(frozen=True)
class Site:
    """Verbs without `-i` find the cluster through the folder, as they do for a person."""

    cli: Cli
    hosts: list[LabHost]
    inventory: Path
    cluster: str

    @classmethod
    def write(cls, lab: Lab, cli: Cli, hosts: list[LabHost], cluster: str = "lab", **settings: Any) -> "Site":
        """Settings go to the top level of the inventory; `user` is the one who logs in."""
        folder = cli.cwd / cluster
        folder.mkdir(exist_ok=True)
        settings = {"image": SMALL_IMAGE, **settings, "cluster": cluster}
        path = lab.write_inventory(folder / "inventory.yaml", hosts, **settings)
        return cls(cli, hosts, path, cluster)

    @property
    def folder(self) -> Path:
        return self.inventory.parent

    @property
    def worker(self) -> str:
        return f"hvdocker-{self.cluster}-worker"

    def run(self, *args: str | Path, check: int | None = 0, **how: Any) -> Result:
        return self.cli.run(*args, cwd=self.folder, check=check, **how)

    def up(self) -> Result:
        return self.run("up", self.inventory)

    def down(self, *flags: str) -> Result:
        return self.run("down", "-i", self.inventory, "-y", *flags)

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json").out))

    def seen(self, host: LabHost) -> dict[str, Any]:
        """The worker on that host, as `docker inspect` shows it."""
        (found,) = json.loads(host.docker("inspect", self.worker))
        return dict(found)

    def ids(self) -> dict[str, str]:
        return {host.name: self.seen(host)["Id"] for host in self.hosts}

    def inside(self, host: LabHost, *argv: str) -> tuple[int, str, str]:
        """A command in the worker on that host."""
        return host.attempt(["docker", "exec", self.worker, *argv])

    def logins(self) -> dict[tuple[str, str], str]:
        """From every worker to every worker: the address at which the login arrived, or the error."""
        return {
            (start.name, end.name): self._login(start, end.name) for start in self.hosts for end in self.hosts
        }

    def _login(self, start: LabHost, name: str) -> str:
        code, out, err = self.inside(start, "ssh", name, 'set -- $SSH_CONNECTION; echo "$3"')
        return out.strip() if code == 0 else err

    def full_mesh(self) -> dict[tuple[str, str], str]:
        """What `logins` gives when everybody reaches everybody."""
        return {(start.name, end.name): end.address for start in self.hosts for end in self.hosts}
