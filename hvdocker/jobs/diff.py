"""The verb `diff`: show what differs between two jobs. Their capsules are read from the controller. The hosts are
asked only for a job whose capsule or final record the controller lacks."""

from __future__ import annotations

from collections.abc import Mapping

from hvdocker.env import Env
from hvdocker.inventory.locate import Located
from hvdocker.jobs.capsule.difference import (
    Change,
    ComparedJob,
    Difference,
    FileChange,
    Outcome,
    compare_jobs,
    read_record,
)
from hvdocker.jobs.capsule.patch import FilePatch
from hvdocker.jobs.capsule.store import StoredCapsule, find_capsules


def diff(env: Env, located: Located, first: str, second: str) -> Difference:
    """Return what differs between two jobs. `first` and `second` are job ids, or the beginnings of ids. Raises
    HvdockerError if the capsule of a job is found neither on the controller nor on a host."""
    one, other = find_capsules(env, located, (first, second), needs_record=True)
    return compare_jobs(_compared_job(one), _compared_job(other))


def as_json(found: Difference, with_text: bool = False) -> Mapping[str, object]:
    """Return the difference as the JSON object that `diff --json` prints. Its keys `jobs` (ids), `started` (Unix times)
    and `outcomes` (how the jobs ended) have one item for each of the two jobs. `same` is whether nothing differs, apart
    from the outcomes; `differences` has the values that differ, and `files` the files whose uncommitted changes differ.
    `with_text` adds the text of the patch of every changed file; without it, a changed file has only the numbers of
    changed lines."""
    ran = (found.first, found.second)
    return {
        "jobs": [one.capsule.job for one in ran],
        "started": [one.capsule.started for one in ran],
        "same": found.is_empty,
        "differences": [_change(change) for change in found.changes],
        "files": [_file(change, with_text) for change in found.files],
        "outcomes": [_outcome(one.outcome) for one in ran],
    }


def _compared_job(stored: StoredCapsule) -> ComparedJob:
    return ComparedJob(stored.capsule, stored.patch, read_record(stored.record))


def _change(change: Change) -> Mapping[str, object]:
    return {"group": change.group, "what": change.what, "values": [change.first, change.second]}


def _file(change: FileChange, with_text: bool) -> Mapping[str, object]:
    return {
        "path": change.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        "changes": [_counts(one, with_text) for one in (change.first, change.second)],
    }


def _counts(one: FilePatch | None, with_text: bool) -> Mapping[str, object] | None:
    if one is None:
        return None
    text = {"patch": one.text.decode("utf-8", "replace")} if with_text else {}
    return {"added": one.added, "removed": one.removed, "binary": one.is_binary, **text}


def _outcome(outcome: Outcome | None) -> Mapping[str, object] | None:
    if outcome is None:
        return None
    return {
        "state": outcome.state,
        "code": outcome.code,
        "seconds": outcome.seconds,
        "restarts": outcome.restarts,
        "ranks": [vars(rank) for rank in outcome.ranks],
    }
