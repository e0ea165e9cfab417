"""Checks whether the code on a host is still what the last sync put there. Changes nothing.

The host's index (the list of synced files with their hashes) is read with the same command as in a sync."""

from __future__ import annotations

import zlib

from hvdocker.doctor.facts.commands import check_hashes
from hvdocker.doctor.facts.facts import CodeSeen
from hvdocker.errors import HvdockerError
from hvdocker.sync import commands
from hvdocker.sync.tree import Entry, HostIndex, hash_contents, parse_host_index
from hvdocker.transport.link import HostLink

ASK_TIMEOUT_S = 60.0
# No tree has this id, so the host sends its whole index.
_NO_TREE = "-"


def see_code(link: HostLink, folder: str) -> CodeSeen:
    """Return the hash of the code as it was last synced, and the files that were edited on the host since then.

    `folder` is the code folder on the host. Files whose size, mode or times changed are hashed on the host, because a
    file that was only touched does not count as edited. `hash` of the result is None if nothing was synced. Raises
    HvdockerError if the host's answer is damaged."""
    held = _read_index(link, folder)
    if not held.rows:
        return CodeSeen(is_unfinished=bool(held.unfinished))
    entries = {path: _entry(mark) for path, mark in held.rows.items()}
    return CodeSeen(
        hash=hash_contents(entries),
        files=sum(not entry.is_folder for entry in entries.values()),
        edited=_edited(link, folder, held),
        is_unfinished=bool(held.unfinished),
    )


def _read_index(link: HostLink, folder: str) -> HostIndex:
    question = commands.ask_contents(commands.SyncFolder(folder, "doctor"), _NO_TREE)
    result = link.run(question, timeout_s=ASK_TIMEOUT_S)
    body = result.out.partition(b"\n")[2]
    try:
        return parse_host_index(zlib.decompress(body, wbits=31)) if body else HostIndex()
    except zlib.error as error:
        raise HvdockerError("the host did not say what code it holds", host=link.name) from error


def _entry(mark: list[object]) -> Entry:
    path, mode, _, sha256, target = mark
    if target or not isinstance(mode, int):
        return Entry(str(path), str(sha256), target=str(target))
    return Entry(str(path), str(sha256), mode)


def _edited(link: HostLink, folder: str, held: HostIndex) -> tuple[str, ...]:
    """Return the paths of files that were edited on the host since the last sync.

    `held` is the host's index, the list of the synced files. `folder` is the code folder on the host. Only touched
    paths are examined: those whose size, mode or times changed. A touched file counts as edited if its hash differs
    from the index. A touched symlink always counts as edited, a folder never. If the host could not hash the files, all
    touched files count."""
    looked_at = (_entry(held.rows[path]) for path in sorted(held.touched) if path in held.rows)
    touched = [entry for entry in looked_at if not entry.is_folder]
    files = [entry for entry in touched if entry.sha256]
    if not files:
        return tuple(entry.path for entry in touched)
    result = link.run(check_hashes(folder), [entry.checksum_line() for entry in files])
    verdicts = result.out.split(b"\n")[:-1]
    if len(verdicts) != len(files):
        return tuple(entry.path for entry in touched)
    whole = {entry.path for entry, line in zip(files, verdicts, strict=True) if line.endswith(b": OK")}
    return tuple(entry.path for entry in touched if entry.path not in whole)
