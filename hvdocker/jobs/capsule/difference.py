"""Compare two jobs by their capsules (what a job was made of) and their record.json (how it ended). Pure: opens
nothing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hvdocker.jobs.capsule.capsule import Capsule
from hvdocker.jobs.capsule.patch import FilePatch, split_by_file

# The groups of compared values, in the order in which `diff` shows them.
GROUPS = (
    "code", "image", "requirements", "command", "environment", "placement", "versions", "inventory",
    "endurance",
)  # fmt: skip
_SHORT = 12
# Keys of the inventory that other groups show, or that do not describe the cluster.
_NOT_SETTINGS = ("inventory", "why", "env")


@dataclass(frozen=True)
class RankOutcome:
    """How one rank ended, read from record.json. `code` is its exit code, `signal` the number of the signal that killed
    it, `seconds` its run time, `max_rss_kb` the most memory that it used, in KB. Each of these is None if the record
    does not have it."""

    rank: int
    host: str
    code: int | None = None
    signal: int | None = None
    seconds: float | None = None
    max_rss_kb: int | None = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended, read from its record.json. `state` is a word such as `succeeded`; if the record was written
    while the job ran, it is the state at that time. `code` is the exit code, None if the record has none. `seconds` is
    the run time, None if the job has not finished. `restarts` is the number of restarts. `ranks` says how each
    rank ended."""

    state: str
    code: int | None
    seconds: float | None
    restarts: int
    ranks: tuple[RankOutcome, ...] = ()

    @staticmethod
    def read(value: Mapping[str, Any]) -> Outcome:  # Any: foreign JSON
        started, finished = value.get("started"), value.get("finished")
        ranks = [rank for rank in value.get("ranks") or () if isinstance(rank, dict)]
        return Outcome(
            state=str(value.get("state") or "?"),
            code=value.get("code"),
            seconds=float(finished) - float(started) if started and finished else None,
            restarts=int(value.get("restarts") or 0),
            ranks=tuple(_rank(rank) for rank in ranks),
        )


@dataclass(frozen=True)
class ComparedJob:
    """A job to compare with another one. `patch` has the code changes that are not in the commit of the capsule.
    `record` is the parsed record.json, or None if there is none."""

    capsule: Capsule
    patch: bytes = b""
    record: Mapping[str, Any] | None = None  # Any: foreign JSON

    @property
    def outcome(self) -> Outcome | None:
        """How the job ended. None if there is no record, or the record is damaged."""
        try:
            return Outcome.read(self.record) if self.record else None
        except (ValueError, TypeError, AttributeError):
            return None


@dataclass(frozen=True)
class Change:
    """One value that differs between two jobs. `group` is an entry of GROUPS, such as `image`; `what` is the name of
    the value, such as `content`. `first` and `second` are the values in the two jobs. A value is None if that job does
    not have it."""

    group: str
    what: str
    first: str | None
    second: str | None


@dataclass(frozen=True)
class FileChange:
    """A file whose uncommitted changes differ between two jobs. `first` and `second` are the patches of this file in
    the two jobs. A patch is None if that job has no uncommitted changes in the file."""

    path: str
    first: FilePatch | None
    second: FilePatch | None


@dataclass(frozen=True)
class Difference:
    """All differences between two jobs. `changes` are in the order of GROUPS. `files` are the files whose
    uncommitted changes differ, ordered by path."""

    first: ComparedJob
    second: ComparedJob
    changes: tuple[Change, ...]
    files: tuple[FileChange, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both jobs were made of the same code, image, settings and so on. How the jobs ended is not
        compared."""
        return not self.changes and not self.files

    def in_group(self, group: str) -> list[Change]:
        return [change for change in self.changes if change.group == group]


def read_record(text: str | None) -> Mapping[str, Any] | None:  # Any: foreign JSON
    """Parse `text`, the content of record.json. Return None if it is missing (`text` is None) or damaged."""
    try:
        value = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def compare_jobs(first: ComparedJob, second: ComparedJob) -> Difference:
    """Return what differs between two jobs. Values of their capsules, and package versions of their records, are
    compared group by group (GROUPS, such as code and image). Uncommitted code changes are compared file by file. How
    the jobs ended is not compared."""
    changes = [
        Change(group, what, one, other)
        for group in GROUPS
        for what, one, other in _pairs(_VALUES_OF_GROUP[group](first), _VALUES_OF_GROUP[group](second))
        if one != other
    ]
    return Difference(first, second, tuple(changes), tuple(_files(first.patch, second.patch)))


def _pairs(
    first: Mapping[str, str | None], second: Mapping[str, str | None]
) -> Iterator[tuple[str, str | None, str | None]]:
    for name in dict.fromkeys([*first, *second]):
        yield name, first.get(name), second.get(name)


def _files(first: bytes, second: bytes) -> Iterator[FileChange]:
    one, other = split_by_file(first), split_by_file(second)
    for path in sorted({*one, *other}):
        mine, theirs = one.get(path), other.get(path)
        if (mine and mine.text) != (theirs and theirs.text):
            yield FileChange(path, mine, theirs)


def _code(ran: ComparedJob) -> dict[str, str | None]:
    code, git = ran.capsule.code, ran.capsule.code.git
    return {
        "hash": code.hash[:_SHORT],
        "commit": git.commit[:_SHORT] or None,
        "branch": git.branch or None,
        "changes that were not kept": git.why if git.commit and git.why else None,
    }


def _image(ran: ComparedJob) -> dict[str, str | None]:
    image = ran.capsule.image
    return {"image": image.name, "content": _digest(image.content)}


def _requirements(ran: ComparedJob) -> dict[str, str | None]:
    """Return the requirements of the job as pairs of a key and a value. For a requirement line, both are the line; for
    a constraint line, both are the line with `-c ` in front. For a wheel, the key is its name and the value its
    shortened digest. A line that only one job has is a key that the other job lacks, so `diff` shows it."""
    found = ran.capsule.requirements or {}
    lines = [*_list(found.get("lines")), *(f"-c {line}" for line in _list(found.get("constraints")))]
    wheels = found.get("wheels")
    wheels = wheels if isinstance(wheels, dict) else {}
    return {**{line: line for line in lines}, **{str(name): _digest(str(body)) for name, body in wheels.items()}}


def _command(ran: ComparedJob) -> dict[str, str | None]:
    return {"command": shlex.join(ran.capsule.command), "launcher": shlex.join(ran.capsule.launcher)}


def _environment(ran: ComparedJob) -> dict[str, str | None]:
    secrets = {
        f"secret {secret.name}": "the caller's variable" if secret.path is None else secret.path
        for secret in ran.capsule.secrets
    }
    return {**ran.capsule.env, **secrets}


def _placement(ran: ComparedJob) -> dict[str, str | None]:
    placement = ran.capsule.placement
    found: dict[str, str | None] = {
        "cluster": ran.capsule.cluster,
        "ranks": str(ran.capsule.np),
        "hosts": ", ".join(f"{share.host}:{share.slots}" for share in placement.shares),
        "port": str(ran.capsule.port),
    }
    for share in placement.shares:
        found[f"address of {share.host}"] = ran.capsule.addresses.get(share.host) or None
        found[f"devices of {share.host}"] = ", ".join(share.devices) or None
    return found


def _versions(ran: ComparedJob) -> dict[str, str | None]:
    inside = (ran.record or {}).get("versions")
    found = {str(name): str(version) for name, version in inside.items()} if isinstance(inside, dict) else {}
    engines = {f"engine of {host}": version for host, version in ran.capsule.engines.items()}
    return {"hvdocker": ran.capsule.version, **engines, **found}


def _inventory(ran: ComparedJob) -> dict[str, str | None]:
    settings = {name: value for name, value in ran.capsule.inventory.items() if name not in _NOT_SETTINGS}
    return dict(_flattened("", settings))


def _resilience(ran: ComparedJob) -> dict[str, str | None]:
    return dict(_flattened("", ran.capsule.resilience))


def _flattened(name: str, value: object) -> Iterator[tuple[str, str | None]]:
    """Yield every leaf of the nested JSON `value` as a pair (path, text), with a path like `hosts/NAME/slots`. `name`
    is the path of `value` itself, empty at the top. The text is None for null.

    An item of a list is named by its key `name`, or else by its index. An object that has only the keys `value` and
    `from` is replaced by its value."""
    if isinstance(value, Mapping):
        if set(value) == {"value", "from"}:
            yield from _flattened(name, value["value"])
            return
        for key, inner in value.items():
            yield from _flattened(f"{name}/{key}".lstrip("/"), inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            own = inner.get("name") if isinstance(inner, dict) else None
            yield from _flattened(f"{name}/{own or number}", inner)
    else:
        yield name, None if value is None else str(value)


def _list(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _digest(text: str) -> str | None:
    return text.removeprefix("sha256:")[:_SHORT] or None


def _rank(value: Mapping[str, Any]) -> RankOutcome:  # Any: foreign JSON
    return RankOutcome(
        rank=int(value.get("rank", -1)),
        host=str(value.get("host", "?")),
        code=value.get("code"),
        signal=value.get("signal"),
        seconds=value.get("seconds"),
        max_rss_kb=value.get("max_rss_kb"),
    )


_VALUES_OF_GROUP: Mapping[str, Callable[[ComparedJob], Mapping[str, str | None]]] = {
    "code": _code,
    "image": _image,
    "requirements": _requirements,
    "command": _command,
    "environment": _environment,
    "placement": _placement,
    "versions": _versions,
    "inventory": _inventory,
    "endurance": _resilience,
}
