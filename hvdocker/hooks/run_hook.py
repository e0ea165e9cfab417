"""Runs a hook: a program of the person's own, on this machine, without a standard input."""

from __future__ import annotations

import grp
import os
import pwd
import shlex
import stat
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

# What is still in the pipe when the hook has ended; a process that it left behind may hold it open for good.
_REST_S = 1.0
# After Ctrl-C, which it was sent too.
_GRACE_S = 5.0
_LAST_LINES = 10


@dataclass(frozen=True)
class HookEnd:
    """`code` is negative for a signal, as subprocess has it."""

    code: int
    last_lines: tuple[str, ...] = ()


def run_hook(path: Path, folder: Path, environ: Mapping[str, str], say: Callable[[bytes], None]) -> HookEnd:
    """What it prints is handed on as it comes. Raises OSError where it cannot be started."""
    process = subprocess.Popen(
        [str(path)],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    told = _Told(process, say)
    try:
        process.wait()
    except KeyboardInterrupt:
        _end(process)
        raise
    finally:
        told.finish()
    return HookEnd(process.returncode, told.last_lines())


class _Told:
    """Reads beside the hook: it ends when the hook does, whoever else has its output open."""

    def __init__(self, process: subprocess.Popen[bytes], say: Callable[[bytes], None]) -> None:
        assert process.stdout is not None
        self._pipe, self._say = process.stdout, say
        self._last: deque[bytes] = deque(maxlen=_LAST_LINES)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._pipe:
            self._last.append(line)
            self._say(line)

    def finish(self) -> None:
        self._reader.join(_REST_S)

    def last_lines(self) -> tuple[str, ...]:
        return tuple(line.decode("utf-8", "replace").rstrip() for line in list(self._last))


def is_private_group(uid: int, gid: int) -> bool:
    """Whether nobody else is in it: distributions give every user a group of the same name."""
    try:
        owner, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == owner and set(group.gr_mem) <= {owner}


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Trouble:
    """`mend` is what makes it trustworthy."""

    what: str
    mend: str = "make it your own and writable by you alone"


def trouble_with(path: Path, is_private: Callable[[int, int], bool] = is_private_group) -> Trouble | None:
    """Why what lies there cannot be taken for the person's own. A hook is code."""
    try:
        found = path.stat()
    except OSError as error:
        return Trouble(f"it cannot be looked at: {error.strerror}")
    if found.st_uid not in (0, os.geteuid()):
        return Trouble(f"it belongs to another user (uid {found.st_uid})")
    if found.st_mode & stat.S_IWOTH:
        return Trouble("everybody may write to it", shlex.join(("chmod", "go-w", str(path))))
    if found.st_mode & stat.S_IWGRP and not is_private(found.st_uid, found.st_gid):
        what = f"everybody in its group may write to it (gid {found.st_gid})"
        return Trouble(what, shlex.join(("chmod", "g-w", str(path))))
    return None
