"""Ranks of a job that still run in this very container, by the files that their wrappers keep."""

import time
from pathlib import Path

from inside.protocol import paths
from inside.protocol.rank_registry import present

LOOK_S = 0.1


def wait_gone(job: str, seconds: float, run: Path = paths.RUN) -> bool:
    """Wait until no rank of the job runs here, and all has been written that is kept of them; False where
    one still does after that time."""
    deadline = time.monotonic() + seconds
    while any(is_alive(entry.pid) or is_alive(entry.wrapper) for entry in present(job, run)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_S)
    return True


def is_alive(pid: int) -> bool:
    """Whether there is such a process; a zombie runs nothing any more."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in ("Z", "X")
