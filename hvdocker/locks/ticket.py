"""A sign of life: who waits for slots, or runs something, from which machine. Tickets of those who wait are
the queue."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hvdocker.locks.holder import Claim, read_holder, word_of
from hvdocker.units import show_seconds

QUEUE_DIR = "/tmp/hvdocker.queue"
# A ticket that nobody renewed for that long, by the host's own clock, is nobody's.
DEAD_S = 60
WAITS = "waits"
RUNS = "runs"


@dataclass(frozen=True)
class TicketText(Claim):
    """What a living client says of itself. `wish` is what it wants, in words: `4 slots`."""

    kind: str = WAITS
    wish: str = ""


@dataclass(frozen=True)
class Ticket(TicketText):
    """A sign that was found on a host. Its number is its place; `age_s` is the time since it was renewed,
    `held_s` since it was made, both by the host's clock."""

    number: int = 0
    age_s: int = 0
    held_s: int = 0

    @property
    def since(self) -> str:
        return f"{self.held_s} s" if self.held_s < 60 else show_seconds(self.held_s)

    @property
    def words(self) -> str:
        return f"{self.owner}'s {self.verb} of {self.wish}"


def in_line(tickets: Iterable[Ticket], cluster: str) -> list[Ticket]:
    """Those who wait for slots of this cluster, first come first."""
    waiting = [ticket for ticket in tickets if ticket.kind == WAITS and ticket.cluster == cluster]
    return sorted(waiting, key=lambda ticket: ticket.number)


def read_ticket(number: int, age_s: int, line: str, now: int) -> Ticket | None:
    """From a file that anybody on that host may have written; None where it is no ticket of ours."""
    holder = read_holder(line, age_s, now)
    if not holder.is_named:
        return None
    found = json.loads(line)
    record: Mapping[str, Any] = found  # Any: foreign JSON; it has a token, so it is a mapping
    kind, wish = word_of(record, "kind"), word_of(record, "wish")
    return Ticket(**asdict(holder), kind=kind, wish=wish, number=number)


def ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def queues(tickets: Mapping[str, Sequence[Ticket]]) -> list[tuple[int, str, Ticket]]:
    """Every place of every queue on these hosts: position, host and ticket, by cluster."""
    found = []
    for host, there in tickets.items():
        for cluster in sorted({ticket.cluster for ticket in there}):
            found += [(n, host, ticket) for n, ticket in enumerate(in_line(there, cluster), start=1)]
    return found
