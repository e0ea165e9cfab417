"""Writes and reads the worker label `hvdocker.asked`: the request that the cluster was created for (`up -np 6`).

The label is compact JSON without empty values. Equal requests (with `-H`: in the same order) have equal labels, so
`up` recognizes a cluster that was created for the same request. The label also has the number of slots, so a lost
worker is noticed. This module is pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from hvdocker import names
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.slots import SlotRequest


def label_for_request(request: SlotRequest) -> str:
    """Return the value of the label `hvdocker.asked` for a request, such as `{"np":6}`. If the request has no number of
    slots (no `-np`, no `-H`), the caller adds the number of placed slots with `with_slot_count`."""
    gpu = request.gpu and {key: value for key, value in vars(request.gpu).items() if value}
    return _to_json(
        {
            "np": request.np,
            "strategy": None if request.strategy == "pack" else request.strategy,
            "gpu": gpu,
            "include": sorted(request.include),
            "exclude": sorted(request.exclude),
            "exact": {share.host: share.slots for share in request.exact},
        }
    )


def with_slot_count(words: str, slots: int) -> str:
    """Return the request label `words` with the number of placed slots (key `got`), so that lost slots are noticed
    later.

    A label whose request already has a number of slots (`-np`, `-H`) is returned unchanged."""
    asked = _from_json(words)
    return words if _requested_slots(asked) else _to_json({**asked, "got": slots})


def without_slot_count(label: str) -> str:
    """Return the request label without the number of placed slots (key `got`), which `with_slot_count` adds."""
    return _to_json({key: value for key, value in _from_json(label).items() if key != "got"})


def has_slot_count(words: str) -> bool:
    """Whether the request in the label `words` has a number of slots, from `-np` or `-H`."""
    return _requested_slots(_from_json(words)) is not None


def expected_slots(label: str) -> int | None:
    """Return how many slots all workers with this request label should have together. Return None if the label has no
    number or is not readable."""
    asked = _from_json(label)
    return _requested_slots(asked) or _int_or_none(asked.get("got"))


def scope_label_of_worker(worker: ContainerSeen) -> str:
    return worker.labels.get(names.LABEL_ASKED, "")


def scope_label_of_cluster(state: ClusterState) -> str:
    """Return the request label of the cluster's workers: the first label that is not empty.

    Return empty text if `up` created the workers without a request, or if there are no workers."""
    return next(filter(None, (scope_label_of_worker(worker) for worker in state.workers().values())), "")


def up_command(label: str) -> str:
    """Return the `hvdocker up` command with the flags of the request in the label, such as `hvdocker up -np 6`.
    It is `hvdocker up` if the label is empty or not readable. Messages suggest it to restore lost workers."""
    asked = _from_json(label)
    gpu, exact = _dict_or_empty(asked.get("gpu")), _dict_or_empty(asked.get("exact"))
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


def _to_json(asked: Mapping[str, Any]) -> str:  # Any: JSON
    return json.dumps({key: value for key, value in asked.items() if value}, separators=(",", ":"))


def _from_json(label: str) -> dict[str, Any]:  # Any: as above
    try:
        return _dict_or_empty(json.loads(label))
    except (ValueError, RecursionError):
        return {}


def _dict_or_empty(value: object) -> dict[str, Any]:  # Any: as above
    return value if isinstance(value, dict) else {}


def _requested_slots(asked: Mapping[str, Any]) -> int | None:  # Any: as above
    exact = asked.get("exact")
    if isinstance(exact, dict):
        return sum(_int_or_none(slots) or 0 for slots in exact.values()) or None
    return _int_or_none(asked.get("np"))


def _int_or_none(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
