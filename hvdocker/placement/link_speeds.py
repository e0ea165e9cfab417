"""How fast hosts talk to each other, as the doctor measured it: kept beside the inventory as a hint to
placement. It decides nothing about state, so a file that cannot be read or written is none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from hvdocker.model.inventory import Inventory
from hvdocker.model.report import PairReport
from hvdocker.ops.locate import Located

FILE = "links.json"
FORMAT = 1
MOST_BYTES = 1 << 26

Links = Mapping[frozenset[str], float]


def read_links(located: Located) -> Links:
    """Bits per second between two hosts; only of hosts that are still reached by the same name."""
    try:
        with (located.state / FILE).open("rb") as file:
            told = json.loads(file.read(MOST_BYTES))
        return _understood(told, located.inventory)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def keep_links(located: Located, pairs: Iterable[PairReport]) -> None:
    """What was not measured this time stays as it was. The slower way counts."""
    measured: dict[frozenset[str], float] = {}
    for pair in pairs:
        if pair.bits_per_s is not None:
            both = frozenset({pair.start, pair.end})
            measured[both] = min(pair.bits_per_s, measured.get(both, pair.bits_per_s))
    if not measured:
        return
    told = {
        "format": FORMAT,
        "hosts": {host.name: host.host for host in located.inventory.hosts},
        "bits_per_s": [[*sorted(both), speed] for both, speed in {**read_links(located), **measured}.items()],
    }
    try:
        located.state.mkdir(parents=True, exist_ok=True)
        draft = located.state / f"{FILE}.part"
        draft.write_text(json.dumps(told) + "\n", encoding="utf-8")
        draft.replace(located.state / FILE)
    except OSError:
        return


def _understood(told: object, inventory: Inventory) -> Links:
    if not isinstance(told, dict) or told["format"] != FORMAT:
        return {}
    same = {host.name for host in inventory.hosts if told["hosts"].get(host.name) == host.host}
    return {
        frozenset({one, other}): float(speed)
        for one, other, speed in told["bits_per_s"]
        if one in same and other in same and one != other and speed > 0
    }
