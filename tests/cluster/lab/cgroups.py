"""The control groups of hosts' containers, in the machine's tree: they outlive a host that was killed."""

from contextlib import suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def remove_cgroups() -> None:
    """Removes those that are empty, from the leaves up; only root on the engine's own machine can."""
    for parent in [*ROOT.glob("hvdocker-lab"), *ROOT.glob("*/hvdocker-lab")]:
        inner = [path for path in parent.rglob("*") if path.is_dir()]
        for path in [*sorted(inner, reverse=True), parent]:
            with suppress(OSError):
                path.rmdir()
