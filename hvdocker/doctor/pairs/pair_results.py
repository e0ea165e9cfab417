"""The results of the checks between hosts, not yet judged. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.doctor.pairs.commands import Listener, PairAnswer, Speed, SshCheck

Pair = tuple[str, str]


@dataclass(frozen=True)
class SkipReason:
    """Why the pairs of a host were not checked, in the words of a finding."""

    shown: str
    evidence: tuple[str, ...]
    fix: str | None = None


@dataclass(frozen=True)
class PairResults:
    """All results. `order` names the hosts of the inventory; each is in `listeners` or in `skipped`.
    `ssh_checks` says what was tried on each host's worker port. `speeds` is None without `--deep`."""

    order: tuple[str, ...]
    port: int
    listeners: Mapping[str, Listener] = field(default_factory=dict)
    answers: Mapping[Pair, PairAnswer] = field(default_factory=dict)
    skipped: Mapping[str, SkipReason] = field(default_factory=dict)
    ssh_checks: Mapping[str, SshCheck] = field(default_factory=dict)
    speeds: Mapping[Pair, Speed] | None = None

    @property
    def pairs(self) -> list[Pair]:
        """Every ordered pair: both directions, in inventory order."""
        return [(start, end) for start in self.order for end in self.order if start != end]

    def named(self, pair: Pair, port: int | None = None) -> str:
        """Return the text for a pair in evidence lines: `a → b 10.0.0.12:4711`."""
        start, end = pair
        address = self.listeners[end].address
        return f"{start} → {end} {address}:{port}" if port else f"{start} → {end} {address}"
