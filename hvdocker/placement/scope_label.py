"""What a cluster was asked for (`up -np 6`), as a label of its workers tells it: equal for equal requests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from hvdocker import names
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.slots import SlotRequest


def request_words(request: SlotRequest) -> str:
    gpu = request.gpu and {key: value for key, value in vars(request.gpu).items() if value}
    return _written(
        {
            "np": request.np,
            "strategy": None if request.strategy == "pack" else request.strategy,
            "gpu": gpu,
            "include": sorted(request.include),
            "exclude": sorted(request.exclude),
            "exact": {share.host: share.slots for share in request.exact},
        }
    )


def with_count(words: str, slots: int) -> str:
    """A request that did not say how many is told with what it got, so that what is lost later is missed."""
    asked = _read(words)
    return words if _np_of(asked) else _written({**asked, "got": slots})


def without_count(label: str) -> str:
    return _written({key: value for key, value in _read(label).items() if key != "got"})


def has_number(words: str) -> bool:
    return _np_of(_read(words)) is not None


def asked_np(label: str) -> int | None:
    """How many slots the workers of such a label have together."""
    asked = _read(label)
    return _np_of(asked) or _number(asked.get("got"))


def asked_of(worker: ContainerSeen) -> str:
    return worker.labels.get(names.LABEL_ASKED, "")


def asked_in(state: ClusterState) -> str:
    """The label of the cluster's workers; empty where `up` alone made them."""
    return next(filter(None, (asked_of(worker) for worker in state.workers().values())), "")


def up_again(label: str) -> str:
    """The command that makes such a cluster whole again."""
    asked = _read(label)
    gpu, exact = _mapping(asked.get("gpu")), _mapping(asked.get("exact"))
    memory = f":{gpu['memory_mb']}MB" if gpu.get("memory_mb") else ""
    flags = {
        "-np": asked.get("np"),
        "-H": ",".join(f"{host}:{slots}" for host, slots in exact.items()),
        "--strategy": asked.get("strategy"),
        "--gpu": "none" if gpu.get("is_none") else f"{gpu.get('model', '')}{memory}",
        "--include": ",".join(map(str, asked.get("include") or ())),
        "--exclude": ",".join(map(str, asked.get("exclude") or ())),
    }
    return shlex.join(("hvdocker", "up", *(str(word) for pair in flags.items() if pair[1] for word in pair)))


def _written(asked: Mapping[str, Any]) -> str:  # Any: JSON
    return json.dumps({key: value for key, value in asked.items() if value}, separators=(",", ":"))


def _read(label: str) -> dict[str, Any]:  # Any: as above
    try:
        return _mapping(json.loads(label))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> dict[str, Any]:  # Any: as above
    return value if isinstance(value, dict) else {}


def _np_of(asked: Mapping[str, Any]) -> int | None:  # Any: as above
    exact = asked.get("exact")
    if isinstance(exact, dict):
        return sum(_number(slots) or 0 for slots in exact.values()) or None
    return _number(asked.get("np"))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
