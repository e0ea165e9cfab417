"""The cgroups of the hosts' containers in this machine's tree, which outlive a host that was killed."""

from contextlib import suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def remove_cgroups() -> None:
    """Remove the empty ones, from the leaves up. Only root on the engine's own machine can do so."""
    for parent in [*ROOT.glob("hvdocker-lab"), *ROOT.glob("*/hvdocker-lab")]:
        inner = [path for path in parent.rglob("*") if path.is_dir()]
        for path in [*sorted(inner, reverse=True), parent]:
            with suppress(OSError):
                path.rmdir()
