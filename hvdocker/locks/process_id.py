"""Identify this process so that a later run on the same machine can tell whether it has ended.

A lock or ticket of a process that has ended need not be waited for."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def own_process_id() -> str:
    """Return boot id, PID namespace, PID and start time of this process, separated by blanks.

    Empty if /proc does not have them."""
    try:
        return " ".join((*_boot_and_pid_namespace(), str(os.getpid()), _start_ticks("self")))
    except (OSError, IndexError):
        return ""


def has_process_ended(process: str) -> bool:
    """Return True only if the process has certainly ended.

    False for processes of another machine, boot or PID namespace: they cannot be checked here."""
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
    """Return the start time of the process in clock ticks since the boot."""
    # The program name, in parentheses before it, may contain blanks and parentheses.
    return (_PROC / number / "stat").read_text().rpartition(")")[2].split()[19]
