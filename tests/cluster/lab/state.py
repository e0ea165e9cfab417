"""The lab's folder `.lab/`, outside git: the key pair, known_hosts, the inventory, the lock."""

import fcntl
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
# Several labs can exist on one machine: HVDOCKER_LAB=1 … 127, each with its own hosts, network and folder.
# Each xdist process (`pytest -n 2`) has its own lab, counted from that number.
XDIST_NUMBER = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
LAB_NUMBER = int(os.environ.get("HVDOCKER_LAB", "0")) + int(XDIST_NUMBER)
SHARED = REPOSITORY / ".lab"
FOLDER = SHARED / str(LAB_NUMBER) if LAB_NUMBER else SHARED


@dataclass(frozen=True)
class LabState:
    folder: Path

    @classmethod
    def open(cls, folder: Path = FOLDER) -> "LabState":
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(folder)

    @property
    def key(self) -> Path:
        return self.folder / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.yaml"

    def locked(self) -> AbstractContextManager[None]:
        """Lock the lab: one process at a time changes it."""
        return _locked(self.folder / "lock")

    def machine_locked(self) -> AbstractContextManager[None]:
        """Lock what all labs of this machine share."""
        return _locked(SHARED / "machine.lock")

    def public_key(self) -> str:
        if not self.key.exists():
            argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "hvdocker-lab", "-f", str(self.key)]
            subprocess.run(argv, check=True)
        return self.key.with_suffix(".pub").read_text().strip()

    def pin(self, host_keys: Mapping[str, str]) -> None:
        """Write the hosts' keys (address to key) into known_hosts, in place of older ones."""
        lines = self.known_hosts.read_text().splitlines() if self.known_hosts.exists() else []
        kept = [line for line in lines if line.split(" ")[0] not in host_keys]
        fresh = [f"{address} {key}" for address, key in host_keys.items()]
        self._write("known_hosts", "".join(f"{line}\n" for line in sorted(kept + fresh, key=_by_address)))

    def forget(self) -> None:
        for path in (self.known_hosts, self.inventory, self.folder / "mode"):
            path.unlink(missing_ok=True)

    def remember(self, name: str, value: str) -> None:
        self._write(name, value + "\n")

    def recall(self, name: str) -> str | None:
        path = self.folder / name
        return path.read_text().strip() if path.exists() else None

    def _write(self, name: str, text: str) -> None:
        """Replace a file atomically: readers see the old text or the new one."""
        draft = self.folder / f"{name}.new"
        draft.write_text(text)
        draft.replace(self.folder / name)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _by_address(line: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", line.split(" ")[0])]
