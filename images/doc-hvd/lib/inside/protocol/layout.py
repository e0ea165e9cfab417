"""The two folders that the supervisor works with, as one value that is passed to the code that needs it."""

from dataclasses import dataclass
from pathlib import Path

from inside.protocol import paths

# Seconds that a login to a worker may take before its host counts as unreachable.
CONNECT_S = 5


@dataclass(frozen=True)
class Layout:
    """`run` has the files of jobs, `bin` the programs. Both are the same in the master and in every
    worker."""

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
        """The file in which `up` lists the hosts of an elastic job."""
        return self.run / "hosts.json"

    @property
    def discovered(self) -> Path:
        """The file that the launcher's discovery script prints."""
        return self.run / "discovered"

    def ssh(self, host: str, line: str) -> list[str]:
        """Return the command that runs a line of shell in the worker on another host."""
        options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
        return [str(self.bin / "ssh"), *options, host, line]
