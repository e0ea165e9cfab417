"""Asks a Python process to write its stacks to a file, by sending it a signal. The file hvdocker_stacks.py in the image
installs the signal handler in the processes of ranks. The signal is a real-time signal that scripts do not use."""

import os
import signal
import time
from pathlib import Path

from inside.runtime.processes import PROC, catches_signal

SIGNAL = signal.SIGRTMAX - 2
ANSWER_S = 3.0
# The answer has no end marker: it is complete when it has not grown for this long.
QUIET_S = 0.1


def request_stacks(pid: int, folder: Path, limit_s: float = ANSWER_S) -> tuple[str, str]:
    """Ask a Python process for its stacks, and return (stacks, ""). If there are none, return ("", the reason). The
    process writes its stacks to `folder`, into a file that is named after its pid. `limit_s` limits the wait for this
    file to grow."""
    file = folder / str(pid)
    if not catches_signal(pid, SIGNAL):
        return "", "the process has no handler for it"
    if not has_file_open(pid, file):
        return "", "the file for its stacks is not open"
    try:
        before = file.stat().st_size
        os.kill(pid, SIGNAL)
        text = read_growth(file, before, limit_s)
    except OSError as error:
        return "", f"{error.strerror}"
    return text, "" if text else f"no answer within {limit_s:g} s"


def has_file_open(pid: int, file: Path, proc: Path = PROC) -> bool:
    """Return whether the process still has `file` open, the file to which its signal handler writes stacks. If the
    program has closed the file descriptor of the handler, another file may have the same descriptor by now. The handler
    would write the stacks into that other file. If /proc may not be read, return whether `file` exists. Return False if
    the process is gone. `proc` is the folder /proc."""
    try:
        return any(link.resolve() == file.resolve() for link in (proc / str(pid) / "fd").iterdir())
    except PermissionError:
        return file.exists()
    except OSError:
        return False


def read_growth(file: Path, before: int, limit_s: float) -> str:
    """Return what was appended to the file after its first `before` bytes. Wait until something was appended and the
    file has stopped growing, but at most `limit_s` seconds. Return an empty string if nothing was appended."""
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
