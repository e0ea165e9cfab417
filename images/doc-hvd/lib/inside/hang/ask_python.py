"""Asks a Python process by a signal to write its stacks; the other end is hvdocker_stacks.py of the image."""

import os
import signal
import time
from pathlib import Path

from inside.runtime.processes import PROC, catches

SIGNAL = signal.SIGRTMAX - 2
ANSWER_S = 3.0
# No end is written: an answer that has not grown for so long is whole.
QUIET_S = 0.1


def ask(pid: int, folder: Path, limit_s: float = ANSWER_S) -> tuple[str, str]:
    """The stacks of a process and "", or "" and why there are none."""
    file = folder / str(pid)
    if not catches(pid, SIGNAL):
        return "", "it listens to none"
    if not has_open(pid, file):
        return "", "it has nothing to write to"
    try:
        before = file.stat().st_size
        os.kill(pid, SIGNAL)
        text = grown(file, before, limit_s)
    except OSError as error:
        return "", f"{error.strerror}"
    return text, "" if text else f"no answer within {limit_s:g} s"


def has_open(pid: int, file: Path, proc: Path = PROC) -> bool:
    """Whether it has that file open. A program may have closed what it did not know, and then the number may
    stand for something else, which must not be written to. One that lets nobody look is believed."""
    try:
        return any(link.resolve() == file.resolve() for link in (proc / str(pid) / "fd").iterdir())
    except PermissionError:
        return file.exists()
    except OSError:
        return False


def grown(file: Path, before: int, limit_s: float) -> str:
    """What is added to the file from now on, until it stops growing."""
    deadline, size, quiet_since = time.monotonic() + limit_s, before, time.monotonic()
    while (now := time.monotonic()) < deadline:
        fresh = file.stat().st_size
        if fresh != size:
            size, quiet_since = fresh, now
        elif size > before and now - quiet_since >= QUIET_S:
            break
        time.sleep(QUIET_S / 10)
    with file.open("rb") as opened:
        opened.seek(before)
        return opened.read().decode("utf-8", "replace")
