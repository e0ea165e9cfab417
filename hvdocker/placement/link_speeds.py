"""How fast hosts talk to each other, as the doctor measured it: kept beside the inventory as a hint to
placement. It decides nothing about state, so a file that cannot be read or written is none."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located

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


def _understood(told: object, inventory: Inventory) -> Links:
    if not isinstance(told, dict) or told["format"] != FORMAT:
        return {}
    same = {host.name for host in inventory.hosts if told["hosts"].get(host.name) == host.host}
    return {
        frozenset({one, other}): float(speed)
        for one, other, speed in told["bits_per_s"]
        if one in same and other in same and one != other and speed > 0
    }
