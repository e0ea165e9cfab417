"""The folders that the supervisor, the spawner and its agents work with: one for the files of jobs, one for programs.
`Layout` holds both, and has the paths in them."""

from dataclasses import dataclass
from pathlib import Path

from hvdocker.protocol import paths
from hvdocker.protocol.hosts_file import HOSTS_FILE

# Seconds that ssh waits for the connection to a worker before its host counts as unreachable.
CONNECT_S = 5


@dataclass(frozen=True)
class Layout:
    """The folders of a container: `run` has the files of jobs, `bin` has hvdocker's programs. Both folders have the
    same path in the master and in every worker."""

    run: Path = paths.RUN
    bin: Path = paths.BIN

    @property
    def record(self) -> Path:
        return self.run / paths.RECORD.name

    @property
    def image_env(self) -> Path:
        return self.run / paths.IMAGE_ENV.name

    @property
    def hosts_file(self) -> Path:
        """The file in which `up` lists the hosts that a running elastic job may use. Before the first such `up` there
        is no file."""
        return self.run / HOSTS_FILE

    @property
    def discovered(self) -> Path:
        """The file with the current hosts of an elastic job. The supervisor writes it. A launcher reads it, or
        runs `bin/discover`, which prints it."""
        return self.run / "discovered"

    def ssh(self, host: str, line: str) -> list[str]:
        """Return the ssh command that runs the shell line `line` in the worker on another host. `host` is the name of
        that host. This ssh never asks for a password; it fails instead."""
        options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
        return [str(self.bin / "ssh"), *options, host, line]
