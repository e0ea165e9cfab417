"""Parse the files that describe a past job. Any file may be missing, damaged or of another version. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from hvdocker import names
from hvdocker.launchers import named
from hvdocker.protocol.placement import Placement, Share, placement_from_label
from hvdocker.protocol.record import JobRecord
from hvdocker.protocol.resilience import Elastic

# Exit codes of a supervisor. Any other code means that the supervisor was killed, and does not say how the job ended.
STATE_OF_EXIT_CODE = {0: "succeeded", 1: "failed", 143: "stopped"}
UNKNOWN = "unknown"
_END_STATES = (*STATE_OF_EXIT_CODE.values(), "ended")
_PYTHON_NAMES = ("python", "python3", "python3.11")

# Any: foreign JSON, looked at field by field.
_Object = Mapping[str, Any]


@dataclass(frozen=True)
class JobTexts:
    """The texts of the files that describe a job. A text is empty if its file is missing. `master` is master.json (the
    master container as it was when its log was fetched); the others are job.json, record.json and capsule.json."""

    master: str = ""
    job: str = ""
    record: str = ""
    capsule: str = ""


@dataclass(frozen=True)
class PastJob:
    """A job as its files describe it. `script` names the script, module or command that it ran. `state` is a word such
    as `succeeded`, or `unknown` if no file says how the job ended. `started` is a Unix time; `seconds` is the run time.
    `elastic` has the limits for the number of ranks of an elastic job; None for any other job. `launcher` is the name
    of its launcher. `np` is the number of ranks if the launcher is a pool (ranks that are independent and may wait for
    a free slot), else None. `record` is the parsed record.json. A field is empty or None if no file has it."""

    job: str
    cluster: str = ""
    owner: str = ""
    script: str = ""
    state: str = UNKNOWN
    exit_code: int | None = None
    placement: Placement = field(default_factory=lambda: Placement(()))
    elastic: Elastic | None = None
    started: float | None = None
    seconds: float | None = None
    restarts: int = 0
    record: JobRecord | None = None
    launcher: str = ""
    np: int | None = None


def read_past_job(job: str, texts: JobTexts) -> PastJob:
    """Return what the texts of a job's files say about it, merged into one value. Never raises: a damaged file counts
    as missing, and what no file says stays empty."""
    master, spec, record, capsule = (_object(text) for text in (texts.master, texts.job, texts.record, texts.capsule))
    labels = _object_in(master, "labels")
    started = _first_not_none(_number(record.get("started")), _number(master.get("started")))
    finished = _first_not_none(_number(record.get("finished")), _number(master.get("finished")))
    code = _first_not_none(_integer(record.get("code")), _integer(master.get("exit_code")))
    state = _state(record, code)
    return PastJob(
        job=job,
        cluster=_text(
            labels.get(names.LABEL_CLUSTER), record.get("cluster"), spec.get("cluster"), capsule.get("cluster")
        ),
        owner=_text(labels.get(names.LABEL_OWNER), capsule.get("owner"), record.get("owner")),
        script=_text(labels.get(names.LABEL_SCRIPT), spec.get("script"), capsule.get("script"))
        or script_in_command(spec.get("command")),
        state=state,
        exit_code=code if state != UNKNOWN else None,
        placement=_placement(labels, spec, capsule),
        elastic=Elastic.read(_text(labels.get(names.LABEL_ELASTIC))) or _elastic(spec),
        started=_first_not_none(started, _number(master.get("created")), _number(capsule.get("started"))),
        seconds=max(0.0, finished - started) if finished and started is not None else None,
        restarts=max(0, _integer(record.get("restarts")) or 0),
        launcher=(launcher := _launcher(labels, spec, capsule)),
        np=_first_not_none(_integer(spec.get("np")), _integer(capsule.get("np"))) if named(launcher).is_pool else None,
        record=JobRecord.read(texts.record) if texts.record else None,
    )


def script_stem(job: str) -> str:
    """Return the part of a job id that comes from the script's name: `train` for the id `train-ab12`."""
    return job.rpartition("-")[0] or job


def script_in_command(command: object) -> str:
    """Return what a rank's command runs: the script or module of a Python command, else the first word. `command` is
    the value in a job.json, normally a list of words. Because the file may be damaged, items that are not strings are
    ignored. Return an empty string if no word is left, or if `command` is not a list."""
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
    if not words or PurePosixPath(words[0]).name not in _PYTHON_NAMES:
        return words[0] if words else ""
    rest = words[1:]
    if "-m" in rest[:-1] and all(word.startswith("-") for word in rest[: rest.index("-m")]):
        return rest[rest.index("-m") + 1]
    return next((word for word in rest if not word.startswith("-")), words[0])


def _state(record: _Object, code: int | None) -> str:
    told = record.get("state")
    if told in _END_STATES:
        return str(told)
    return UNKNOWN if code is None else STATE_OF_EXIT_CODE.get(code, "ended")


def _placement(labels: _Object, spec: _Object, capsule: _Object) -> Placement:
    found = placement_from_label(_text(labels.get(names.LABEL_PLACEMENT)) or "{}")
    if found.shares:
        return found
    told = _list(spec.get("hosts")) or _list(capsule.get("placement"))
    hosts = [one for one in told if isinstance(one, dict)]
    names_of = [_text(one.get("name"), one.get("host")) for one in hosts]
    slots = [_integer(one.get("slots")) or 0 for one in hosts]
    return Placement(tuple(Share(name, count) for name, count in zip(names_of, slots, strict=True) if name))


def _launcher(labels: _Object, spec: _Object, capsule: _Object) -> str:
    """Return the name of a job's launcher, from its job.json (`spec`), its capsule.json or the labels of its master. It
    is empty for a job that an early version of hvdocker started, which had only the default launcher."""
    told = _object_in(spec, "launcher").get("name")
    return _text(told, capsule.get("launcher_name"), labels.get(names.LABEL_LAUNCHER))


def _elastic(spec: _Object) -> Elastic | None:
    told = _object_in(_object_in(spec, "endurance"), "elastic")
    least = _integer(told.get("min_np"))
    return Elastic(least, _integer(told.get("max_np"))) if least is not None else None


def _object(text: str) -> _Object:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _object_in(value: _Object, key: str) -> _Object:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _text(*values: object) -> str:
    """Return the first of the values that is a non-empty string. Return an empty string if none is."""
    return next((value for value in values if isinstance(value, str) and value), "")


def _number(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < 1e11 else None  # type: ignore[operator,arg-type]  # a number


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _first_not_none(*values: Any) -> Any:  # Any: numbers of either kind
    return next((value for value in values if value is not None), None)
