"""Checks in a container, and scripts that end processes there: those of one job's ranks, or those of one
`exec`, and no others. A process is known by a variable of its environment, which whatever it started has too:
a number alone may be another's by now."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker import names
from hvdocker.shell.command import Command, command, shell

JOB = "HVDOCKER_JOB"
EXEC = "HVDOCKER_EXEC"
CHECK = "/opt/hvdocker/bin/check"

# 1 is the signal, 2 the mark, the rest process numbers. What was signalled is echoed. Only what leads a group
# of its own is signalled with its group.
_SIGNAL = r"""
signal=$1; mark=$2; shift 2
for pid; do
    case $pid in *[!0-9]*|""|0|1|$$) continue;; esac
    tr '\0' '\n' < "/proc/$pid/environ" 2>/dev/null | grep -qxF -e "$mark" || continue
    kill -s "$signal" -- "-$pid" 2>/dev/null || kill -s "$signal" -- "$pid" 2>/dev/null || continue
    echo "$pid"
done
true
"""
# The shell that looks has no mark itself.
_ALL = 'cd /proc && set -- "$1" "$2" [0-9]*; cd /;'


def check_sshd(address: str, port: int, seconds: int) -> Command:
    """Exit code 0 as soon as an SSH server greets there, 1 where none did in that time."""
    return command(CHECK, "sshd", address, str(port), str(seconds))


def check_mesh(members: Iterable[str]) -> Command:
    return command(CHECK, "mesh", *members)


def ranks_folder(job: str) -> str:
    """Where the wrapper of every rank of a job says in a running container which process it is."""
    return f"{names.IN_CONTAINER}/ranks/{job}"


def signal_ranks(signal: str, job: str, pids: Iterable[int]) -> Command:
    """0 for a signal only asks which of them are there."""
    return shell(_SIGNAL, signal, f"{JOB}={job}", *map(str, pids))


def signal_exec(signal: str, token: str) -> Command:
    return shell(f"{_ALL}{_SIGNAL}", signal, f"{EXEC}={token}")


def any_shell() -> tuple[str, ...]:
    """Bash where the image has it."""
    return ("sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi")
