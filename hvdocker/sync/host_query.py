"""Asks one host, in one round trip, which files of a tree it holds. Changes nothing on the host, except that a
code folder that the SSH user cannot enter is opened to this user (`open_own`)."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from hvdocker.sync import commands
from hvdocker.sync.commands import SyncFolder
from hvdocker.sync.tree import Changes, Entry, HostIndex, Tree, compute_changes, parse_host_index
from hvdocker.transport.link import HostLink, run_or_raise


@dataclass(frozen=True)
class SyncTarget:
    """A host (`link`) and the path of its code folder (`folder`). `is_shared` means that the container that reads the
    files runs as another user than the SSH login, so the files must be readable by all users."""

    link: HostLink
    folder: str
    is_shared: bool = False


@dataclass(frozen=True)
class HostAnswer:
    """The answer of a host: the files that it lacks (`changes`), and further facts that the sync needs.

    `base` is the first line of the index from which the changes were computed, or UNKNOWN_BASE if it could not be read.
    `has_zstd` says whether the host has the program zstd. `took_s` is the time in seconds that asking took."""

    changes: Changes
    base: str
    has_zstd: bool
    took_s: float


def ask_host(target: SyncTarget, tree: Tree, tree_id: str, token: str, checksum: bool) -> HostAnswer:
    """Ask the host which files it holds, and return which files of the tree it lacks. Raise HvdockerError if asking
    fails.

    `tree_id` is the id of the tree for this host (`Tree.id`). `token` identifies the sync. With `checksum` the host
    also hashes its files, because sizes and times may not show a change."""
    started = time.monotonic()
    question = commands.ask_contents(SyncFolder(target.folder, token), tree_id, checksum)
    wanted = [entry.checksum_line() for entry in _files(tree)] if checksum else None
    result = run_or_raise(target.link, question, "asking what the host holds failed", wanted)
    line, _, body = result.out.partition(b"\n")
    held = HostIndex(is_same=True) if line.startswith(b"same") else _parse_answer(body, tree, checksum)
    lacked = compute_changes(tree, held, target.is_shared)
    base = commands.UNKNOWN_BASE if held.base is None else held.base
    return HostAnswer(lacked, base, b"zstd" in line, time.monotonic() - started)


def _parse_answer(body: bytes, tree: Tree, checksum: bool) -> HostIndex:
    """Return what the host holds of `tree`. `body` is the host's answer after its first line, compressed by gzip. It
    has the index of the last sync, the rows of interrupted syncs, and the listing of the files now. With `checksum` it
    also has the output of `sha256sum -c`, and files whose hash is wrong count as changed. An unreadable answer gives an
    empty index, so that everything is sent."""
    try:
        answer = zlib.decompress(body, wbits=31) if body else b""
    except zlib.error:
        return HostIndex()
    return parse_host_index(answer, _unverified(tree, answer.split(b"\0")[3:]) if checksum else ())


def _files(tree: Tree) -> Iterator[Entry]:
    return (entry for _, entry in sorted(tree.entries.items()) if entry.sha256)


def _unverified(tree: Tree, sections: list[bytes]) -> list[str]:
    """Return the paths of the tree's files whose content `sha256sum -c` on the host did not confirm. Return the paths
    of all files if its output is incomplete.

    `sections` are the parts of the host's answer that have this output: one line per path, in the order in which the
    paths were sent."""
    paths = [entry.path for entry in _files(tree)]
    lines = b"".join(sections).split(b"\n")[:-1]
    if len(lines) != len(paths):
        return paths
    return [path for path, line in zip(paths, lines, strict=True) if not line.endswith(b": OK")]
