"""Which process this is, in words that another run on this machine understands: a lock that names a process
which is gone need not be waited for."""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def own_process() -> str:
    """This boot of this machine, its namespace of processes, the number and the start of this one; empty
    where the kernel does not tell."""
    try:
        return " ".join((*_here(), str(os.getpid()), _start("self")))
    except (OSError, IndexError):
        return ""


def is_gone(process: str) -> bool:
    """Only where that is sure: of another machine, or before a reboot, nobody here knows."""
    boot, space, number, start = (*process.split(" "), "", "", "", "")[:4]
    if not start or not number.isdigit():
        return False
    try:
        if (boot, space) != _here():
            return False
    except OSError:
        return False
    try:
        return _start(number) != start
    except FileNotFoundError:
        return True
    except (OSError, IndexError):
        return False


def _here() -> tuple[str, str]:
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return boot, str((_PROC / "self/ns/pid").readlink())


def _start(number: str) -> str:
    """In ticks since the boot; the program's name in front of it may have blanks and brackets in it."""
    return (_PROC / number / "stat").read_text().rpartition(")")[2].split()[19]
