"""All that was found between hosts, before anybody judges it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.doctor.pairs.commands import Answer, Listener, Speed, SshWay

Pair = tuple[str, str]


@dataclass(frozen=True)
class Gap:
    """Why nothing can be said of the pairs of a host."""

    shown: str
    evidence: tuple[str, ...]
    fix: str | None = None


@dataclass(frozen=True)
class PairResults:
    """`order` names all hosts of the inventory; each has a post or an absence. `speeds` only where they were
    asked for."""

    order: tuple[str, ...]
    port: int
    posts: Mapping[str, Listener] = field(default_factory=dict)
    answers: Mapping[Pair, Answer] = field(default_factory=dict)
    absent: Mapping[str, Gap] = field(default_factory=dict)
    ways: Mapping[str, SshWay] = field(default_factory=dict)
    speeds: Mapping[Pair, Speed] | None = None

    @property
    def pairs(self) -> list[Pair]:
        return [(start, end) for start in self.order for end in self.order if start != end]

    def named(self, pair: Pair, port: int | None = None) -> str:
        """`a → b 10.0.0.12:4711`"""
        start, end = pair
        address = self.posts[end].address
        return f"{start} → {end} {address}:{port}" if port else f"{start} → {end} {address}"
