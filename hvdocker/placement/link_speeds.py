"""Reads the speeds between hosts from `.hvdocker/links.json`, where `doctor --deep` saves them.

They are only a hint for placement, so a missing or damaged file means that nothing was measured. The file has
the slower direction of each pair, and each host's `host:` at the time of the measurement."""

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
    """Return the speed of each measured pair in bits per second, {} if there is no usable file.

    Pairs with a host whose `host:` has changed since the measurement are left out."""
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
