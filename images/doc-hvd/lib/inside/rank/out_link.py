"""The symbolic link /run/hvdocker/out, to which /out in the container points. It points to the output folder of the
newest job of this container. But while an older job to which it points still runs here, it is not moved. A running job
holds a file lock, which the kernel releases when the job's processes end.

It is a symbolic link and not a mount for each job, because workers outlive jobs and a running container gets no new
mounts. HVDOCKER_OUTPUT_DIR always names the output folder of the rank's own job."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from hvdocker.protocol import paths


def hold_live(job: str, run: Path = paths.RUN) -> IO[bytes]:
    """Mark `job` as running in this container, by a lock, and return the locked file. The lock lasts as long as the
    file is open, so the caller has to keep it. Several ranks of a job may hold the lock at once. `run` is the folder
    /run/hvdocker."""
    held = _open_lock(run, job)
    fcntl.flock(held, fcntl.LOCK_SH)
    return held


def is_live(job: str, run: Path = paths.RUN) -> bool:
    """Return whether a process in this container holds the lock of `job`, which means that the job still runs here.
    `run` is the folder /run/hvdocker."""
    with _open_lock(run, job) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def point_out_to(job: str, run: Path = paths.RUN) -> bool:
    """Point the symbolic link /run/hvdocker/out to the outputs of `job`, and return True. If it points to another job
    that still runs here, leave it and return False. `run` is the folder /run/hvdocker."""
    link = run / "out"
    with _one_at_a_time(run):
        other = _job_behind(link)
        if other == job:
            return True
        if other and is_live(other, run):
            return False
        fresh = run / f"out.{os.getpid()}"
        fresh.symlink_to(paths.output_folder(job, run))
        fresh.replace(link)
    return True


def _job_behind(link: Path) -> str:
    try:
        return link.readlink().parent.name
    except OSError:
        return ""


@contextmanager
def _one_at_a_time(run: Path) -> Iterator[None]:
    with _open_lock(run, ".switch") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _open_lock(run: Path, name: str) -> IO[bytes]:
    folder = run / "live"
    folder.mkdir(mode=0o700, exist_ok=True)
    return (folder / name).open("ab")
