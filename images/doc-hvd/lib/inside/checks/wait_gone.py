"""Waits until the ranks of a job in this container have ended. The rank registry (`inside/runtime/rank_registry.py`)
lists the ranks that may still run."""

import time
from pathlib import Path

from hvdocker.protocol import paths
from inside.runtime.rank_registry import registered_ranks

POLL_S = 0.1


def wait_gone(job: str, seconds: float, run: Path = paths.RUN) -> bool:
    """Wait until no rank of the job runs in this container. Returns True as soon as no rank runs, False if a rank still
    runs after `seconds`. A rank runs until both its command and its rank wrapper have ended, because the wrapper writes
    the log and the record of the rank. `job` is the job's name, `run` the folder /run/hvdocker."""
    deadline = time.monotonic() + seconds
    while any(is_alive(entry.pid) or is_alive(entry.wrapper) for entry in registered_ranks(job, run)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def is_alive(pid: int) -> bool:
    """Return whether a process with this id exists and has not ended. A zombie counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in (b"Z", b"X")
