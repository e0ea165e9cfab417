"""Reads processes from /proc. It finds all processes of a rank: those in the session of its command, and the
descendants of these."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Process(NamedTuple):
    """One process or thread, as in /proc/PID/stat. `state` is a letter, such as Z for a zombie. `parent` is the pid of
    its parent, `session` the id of its session. `ticks` is its own CPU time and `reaped_ticks` the CPU time of
    children that it has waited for, both in clock ticks. `rss_pages` is its resident memory in pages."""

    pid: int
    name: str
    state: str
    parent: int
    session: int
    ticks: int
    reaped_ticks: int
    rss_pages: int


def session_and_descendants(leader: int, proc: Path = PROC) -> list[Process]:
    """Return the processes in the session of `leader` (the pid of a command that was started in its own session), and
    all their descendants, also those in other sessions. `leader` comes first. `proc` is the folder /proc."""
    everyone = list(processes(proc))
    found = {process.pid: process for process in everyone if process.session == leader}
    while fresh := [one for one in everyone if one.parent in found and one.pid not in found]:
        found.update({process.pid: process for process in fresh})
    return sorted(found.values(), key=lambda process: (process.pid != leader, process.pid))


def threads(pid: int, proc: Path = PROC) -> Iterator[Process]:
    """Yield the threads of a process; nothing if the process is gone. In each thread, `reaped_ticks` is the value of
    the whole process. `proc` is the folder /proc."""
    return processes(proc / str(pid) / "task")


def processes(proc: Path = PROC) -> Iterator[Process]:
    """Yield every process in the folder `proc`: /proc, or the `task` folder of a process for its threads. Processes
    that end meanwhile are left out."""
    try:
        folders = list(proc.iterdir())
    except OSError:
        return
    for folder in folders:
        if folder.name.isdigit():
            try:
                yield parse_stat((folder / "stat").read_bytes())
            except OSError:
                continue


def parse_stat(data: bytes) -> Process:
    """Parse `data`, the content of /proc/PID/stat. The name is in brackets, and may itself contain brackets and
    blanks."""
    before, _, name = data.rpartition(b")")[0].partition(b"(")
    fields = data.rpartition(b")")[2].split()
    return Process(
        pid=int(before),
        name=name.decode("utf-8", "replace"),
        state=fields[0].decode(),
        parent=int(fields[1]),
        session=int(fields[3]),
        ticks=int(fields[11]) + int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        rss_pages=int(fields[21]),
    )


def command_line_of(pid: int, proc: Path = PROC) -> str:
    """Return the command line of a process; empty for a zombie, or if it cannot be read. `proc` is the folder /proc."""
    try:
        words = (proc / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode("utf-8", "replace") for word in words if word)


def catches_signal(pid: int, signal: int, proc: Path = PROC) -> bool:
    """Return whether a process has a handler for a signal. Without a handler, most signals end the process. Return
    False if the answer cannot be read. `signal` is the number of the signal, `proc` the folder /proc."""
    try:
        status = (proc / str(pid) / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    masks = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:")]
    return any(int(mask, 16) >> (signal - 1) & 1 for mask in masks)
