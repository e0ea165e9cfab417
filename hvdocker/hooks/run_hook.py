"""Runs a hook as a process on the controller, without standard input. Also checks whether the file of a hook can be
trusted."""

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

# How long to read on after the hook has ended. A process that the hook left running may never close the pipe.
_DRAIN_S = 1.0
# How long a hook may run on after Ctrl-C, which it receives too; then it is killed.
_GRACE_S = 5.0
_LAST_LINES = 10


@dataclass(frozen=True)
class HookResult:
    """The end of a hook's process.

    `code` is the exit code, or the negative signal number if a signal killed the process, as in subprocess.
    `last_lines` are the last lines that the hook printed."""

    code: int
    last_lines: tuple[str, ...] = ()


def run_hook(path: Path, folder: Path, environ: Mapping[str, str], say: Callable[[bytes], None]) -> HookResult:
    """Run the hook (the file `path`) in the folder `folder` until it ends, and return how it ended.

    `environ` is its whole environment. `say` is called with every line of its output. Raise OSError if the hook cannot
    be started. On Ctrl-C wait a few seconds for the hook, kill it if it still runs, and raise KeyboardInterrupt."""
    process = subprocess.Popen(
        [str(path)], cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    told = _OutputReader(process, say)
    try:
        process.wait()
    except KeyboardInterrupt:
        _wait_or_kill(process)
        raise
    finally:
        told.finish()
    return HookResult(process.returncode, told.last_lines())


class _OutputReader:
    """Reads the output of the hook `process` in a thread, and passes every line to `say`.

    `finish` waits for the end of the output, but only about a second, because another process that the hook started may
    keep the pipe open."""

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
        self._reader.join(_DRAIN_S)

    def last_lines(self) -> tuple[str, ...]:
        return tuple(line.decode("utf-8", "replace").rstrip() for line in list(self._last))


def is_private_group(uid: int, gid: int) -> bool:
    """Return whether the group `gid` is the user's own: it has the name of the user `uid` and no other members.

    Many distributions create such a group for every user. Return False if the user or the group does not exist."""
    try:
        owner, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == owner and set(group.gr_mem) <= {owner}


def _wait_or_kill(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_GRACE_S)
    except BaseException as reason:
        # A second Ctrl-C also ends the wait.
        process.kill()
        process.wait()
        if not isinstance(reason, subprocess.TimeoutExpired):
            raise


@dataclass(frozen=True)
class TrustProblem:
    """A reason not to trust a file. `what` is the reason, and `fix` the command or advice that solves the problem."""

    what: str
    fix: str = "make it your own and writable by you alone"


def trust_problem(path: Path, is_private: Callable[[int, int], bool] = is_private_group) -> TrustProblem | None:
    """Return why the file or folder `path` cannot be trusted, or None if it can.

    A hook is code, so it must belong to the user or root, and no other user may write to it. Its group may write only
    if the group has no members but the owner. `is_private` checks that; it gets the ids of the file's owner and
    group."""
    try:
        found = path.stat()
    except OSError as error:
        return TrustProblem(f"it cannot be looked at: {error.strerror}")
    if found.st_uid not in (0, os.geteuid()):
        return TrustProblem(f"it belongs to another user (uid {found.st_uid})")
    if found.st_mode & stat.S_IWOTH:
        return TrustProblem("everybody may write to it", shlex.join(("chmod", "go-w", str(path))))
    if found.st_mode & stat.S_IWGRP and not is_private(found.st_uid, found.st_gid):
        what = f"everybody in its group may write to it (gid {found.st_gid})"
        return TrustProblem(what, shlex.join(("chmod", "g-w", str(path))))
    return None
