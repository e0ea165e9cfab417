"""Keeps the measured speeds between hosts beside the inventory, as a hint to placement."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hvdocker.doctor.report import PairReport
from hvdocker.inventory.locate import Located
from hvdocker.placement.link_speeds import FILE, FORMAT, read_links


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
