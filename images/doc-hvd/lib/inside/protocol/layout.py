"""The two folders that the supervisor works with, handed to whoever needs them."""

from dataclasses import dataclass
from pathlib import Path

from inside.protocol import paths

# How long a login to a worker may take before its host counts as not answering.
CONNECT_S = 5


@dataclass(frozen=True)
class Layout:
    """`run` has what belongs to the jobs, `bin` the programs, here and in every worker alike."""

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
        """Where `up` says which hosts there are."""
        return self.run / "hosts.json"

    @property
    def discovered(self) -> Path:
        """What the launcher's discovery script prints."""
        return self.run / "discovered"

    def ssh(self, host: str, line: str) -> list[str]:
        """The words that run a line of shell in the worker on another host."""
        options = ["-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
        return [str(self.bin / "ssh"), *options, host, line]
