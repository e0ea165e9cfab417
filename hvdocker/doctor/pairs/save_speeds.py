"""Saves the measured network speeds between hosts in .hvdocker/links.json.

Placement reads that file: among hosts that suit a job equally well, it chooses those with the fastest network."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hvdocker.doctor.report import PairReport
from hvdocker.inventory.locate import Located
from hvdocker.placement.link_speeds import LINKS_FILE, LINKS_FORMAT, read_link_speeds


def save_link_speeds(located: Located, pairs: Iterable[PairReport]) -> None:
    """Save the speed of each pair of hosts that was measured: that of its slower direction.

    `located` has the .hvdocker folder, in which links.json is written. Earlier values of other pairs are kept, unless
    the `host:` of one of their hosts has changed since. It is no error if the file cannot be written, because placement
    works without it. Nothing is written if no pair was measured."""
    measured: dict[frozenset[str], float] = {}
    for pair in pairs:
        if pair.bits_per_s is not None:
            both = frozenset({pair.start, pair.end})
            measured[both] = min(pair.bits_per_s, measured.get(both, pair.bits_per_s))
    if not measured:
        return
    told = {
        "format": LINKS_FORMAT,
        "hosts": {host.name: host.host for host in located.inventory.hosts},
        "bits_per_s": [[*sorted(both), speed] for both, speed in {**read_link_speeds(located), **measured}.items()],
    }
    try:
        located.state.mkdir(parents=True, exist_ok=True)
        draft = located.state / f"{LINKS_FILE}.part"
        draft.write_text(json.dumps(told) + "\n", encoding="utf-8")
        draft.replace(located.state / LINKS_FILE)
    except OSError:
        return
