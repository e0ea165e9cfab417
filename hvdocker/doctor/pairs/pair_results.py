"""The results of the checks between hosts, not yet judged. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hvdocker.doctor.pairs.commands import Listener, PairAnswer, Speed, SshCheck

Pair = tuple[str, str]


@dataclass(frozen=True)
class SkipReason:
    """Why the pairs of a host were not checked.

    Its pairs get UNKNOWN findings with the short text `shown`, and with the lines `evidence` that explain the reason.
    `fix` is the command or advice that solves the problem."""

    shown: str
    evidence: tuple[str, ...]
    fix: str | None = None


@dataclass(frozen=True)
class PairResults:
    """The results of all pairs.

    `order` are the hosts of the inventory. `port` is the worker port. `listeners` are the processes that opened ports
    for the peers, by host. `skipped` says, by host, why a host was not checked. If only one host can be checked, it has
    no peer, so no listener is started on it: this host is in neither `listeners` nor `skipped`. `answers` has what the
    first host of a pair found out about the second. `ssh_checks` says which check was made on each host's worker port.
    `speeds` is None without `doctor --deep`."""

    order: tuple[str, ...]
    port: int
    listeners: Mapping[str, Listener] = field(default_factory=dict)
    answers: Mapping[Pair, PairAnswer] = field(default_factory=dict)
    skipped: Mapping[str, SkipReason] = field(default_factory=dict)
    ssh_checks: Mapping[str, SshCheck] = field(default_factory=dict)
    speeds: Mapping[Pair, Speed] | None = None

    @property
    def pairs(self) -> list[Pair]:
        """All ordered pairs of hosts, in inventory order. Every two hosts occur in both directions."""
        return [(start, end) for start in self.order for end in self.order if start != end]

    def named(self, pair: Pair, port: int | None = None) -> str:
        """Return the text that names a pair in evidence lines, such as `a → b 10.0.0.12:4711`.

        If `port` is None, the text has no port."""
        start, end = pair
        address = self.listeners[end].address
        return f"{start} → {end} {address}:{port}" if port else f"{start} → {end} {address}"
