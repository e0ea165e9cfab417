"""Identifies this process, so that a later hvdocker on the same machine can tell whether this process has ended.

Then the lock or ticket of this process can be removed at once."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def own_process_id() -> str:
    """Return a text that identifies this process: boot id, PID namespace, PID and start time, separated by spaces.

    Return an empty text if /proc does not have these values."""
    try:
        return " ".join((*_boot_and_pid_namespace(), str(os.getpid()), _start_ticks("self")))
    except (OSError, IndexError):
        return ""


def has_process_ended(process: str) -> bool:
    """Whether the process has certainly ended. `process` is the text from `own_process_id` that identifies it.

    False for processes of another machine, boot or PID namespace, because they cannot be checked from here."""
    boot, space, number, start = (*process.split(" "), "", "", "", "")[:4]
    if not start or not number.isdigit():
        return False
    try:
        if (boot, space) != _boot_and_pid_namespace():
            return False
    except OSError:
        return False
    try:
        return _start_ticks(number) != start
    except FileNotFoundError:
        return True
    except (OSError, IndexError):
        return False


def _boot_and_pid_namespace() -> tuple[str, str]:
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return boot, str((_PROC / "self/ns/pid").readlink())


def _start_ticks(number: str) -> str:
    """Return the start time of a process in clock ticks since the boot. `number` is its PID, or `self`."""
    # The fields are split after the last ")": the program name before it may contain spaces and parentheses.
    return (_PROC / number / "stat").read_text().rpartition(")")[2].split()[19]
