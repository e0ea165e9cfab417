"""Reads the network speeds between hosts from `.hvdocker/links.json`, which `doctor --deep` writes.

The speeds are only a hint for placement. So a missing or damaged file is no error: it means that nothing was
measured. The file has one speed for each pair of hosts (the speed of the slower direction), and the `host:` that
each host had in the inventory at the time of the measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located

LINKS_FILE = "links.json"
LINKS_FORMAT = 1
MAX_FILE_BYTES = 1 << 26

LinkSpeeds = Mapping[frozenset[str], float]


def read_link_speeds(located: Located) -> LinkSpeeds:
    """Return the speed of each measured pair of hosts in bits per second. A key is the set of the two host names.
    Return an empty mapping if there is no usable `.hvdocker/links.json`.

    `located` has the inventory and the folder `.hvdocker`. Pairs with a host whose `host:` has changed since the
    measurement are left out."""
    try:
        with (located.state / LINKS_FILE).open("rb") as file:
            told = json.loads(file.read(MAX_FILE_BYTES))
        return _parse_link_speeds(told, located.inventory)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _parse_link_speeds(told: object, inventory: Inventory) -> LinkSpeeds:
    if not isinstance(told, dict) or told["format"] != LINKS_FORMAT:
        return {}
    same = {host.name for host in inventory.hosts if told["hosts"].get(host.name) == host.host}
    return {
        frozenset({one, other}): float(speed)
        for one, other, speed in told["bits_per_s"]
        if one in same and other in same and one != other and speed > 0
    }
