"""A cluster under test: its hosts, the folder with its inventory, and the program that controls it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.cli import Cli, Result
from tests.cluster.lab import Lab, LabHost

SMALL_IMAGE = "doc-hvd:base"
SSH_FOLDER = "/run/hvdocker/ssh"


@dataclass(frozen=True)
class LabCluster:
    """A cluster on lab hosts. Verbs run in its folder, so that they find the inventory without `-i`."""

    cli: Cli
    hosts: list[LabHost]
    inventory: Path
    cluster: str

    @classmethod
    def write(cls, lab: Lab, cli: Cli, hosts: list[LabHost], cluster: str = "lab", **settings: Any) -> "LabCluster":
        """Write an inventory of these hosts; nothing is brought up.

        Settings go to the top level of the inventory; `user` is the SSH user."""
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

    def folder_on(self, host: LabHost) -> str:
        """Return the cluster's folder on that host, of the user `trainer`."""
        return f"/home/trainer/.hvdocker/{self.cluster}/{host.name}"

    def run(self, *args: str | Path, check: int | None = 0, **how: Any) -> Result:
        return self.cli.run(*args, cwd=self.folder, check=check, **how)

    def up(self) -> Result:
        return self.run("up", self.inventory)

    def down(self, *flags: str) -> Result:
        return self.run("down", "-i", self.inventory, "-y", *flags)

    def status(self) -> dict[str, Any]:
        return dict(json.loads(self.run("status", "--json").out))

    def inspect_worker(self, host: LabHost) -> dict[str, Any]:
        """Return the worker on that host as `docker inspect` shows it."""
        (found,) = json.loads(host.docker("inspect", self.worker))
        return dict(found)

    def worker_ids(self) -> dict[str, str]:
        return {host.name: self.inspect_worker(host)["Id"] for host in self.hosts}

    def exec_in_worker(self, host: LabHost, *argv: str) -> tuple[int, str, str]:
        """Run a command in the worker on that host; return exit code, stdout and stderr."""
        return host.attempt(["docker", "exec", self.worker, *argv])

    def logins(self) -> dict[tuple[str, str], str]:
        """Log in from every worker to every worker; return the address at which each login arrived, or the
        error."""
        return {(start.name, end.name): self._login(start, end.name) for start in self.hosts for end in self.hosts}

    def _login(self, start: LabHost, name: str) -> str:
        code, out, err = self.exec_in_worker(start, "ssh", name, 'set -- $SSH_CONNECTION; echo "$3"')
        return out.strip() if code == 0 else err

    def full_mesh(self) -> dict[tuple[str, str], str]:
        """Return what `logins` returns if every worker reaches every worker."""
        return {(start.name, end.name): end.address for start in self.hosts for end in self.hosts}
