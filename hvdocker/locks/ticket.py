"""Tickets: files on a host that show that a client (an hvdocker process) is alive.

A client has a ticket while it waits for slots or while it is a `hvdocker run`. The tickets that wait for the slots of
one cluster, in the order of their numbers, are the queue of that cluster. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hvdocker.locks.holder import Claim, read_holder, text_field
from hvdocker.units import show_seconds

QUEUE_DIR = "/tmp/hvdocker.queue"
# A ticket that was not renewed for this long, by the host's own clock, is dead. Any client may remove it.
DEAD_S = 60
WAITS = "waits"
RUNS = "runs"


@dataclass(frozen=True)
class TicketText(Claim):
    """What a client (hvdocker process) writes into a ticket: the fields of Claim, which say who it is, and two more.

    `kind` is WAITS (the client waits for slots) or RUNS (it is a `hvdocker run`). `wish` says what the client asks for,
    such as `4 slots`."""

    kind: str = WAITS
    wish: str = ""


@dataclass(frozen=True)
class Ticket(TicketText):
    """A ticket that was read from a host: the fields of TicketText and three more.

    `number` orders the queue: lower numbers come first. `age_s` is the time since the ticket was renewed, and `held_s`
    the time since it was created, both by the host's clock."""

    number: int = 0
    age_s: int = 0
    held_s: int = 0

    @property
    def since(self) -> str:
        return f"{self.held_s} s" if self.held_s < 60 else show_seconds(self.held_s)

    @property
    def description(self) -> str:
        return f"{self.owner}'s {self.verb} of {self.wish}"


def waiting_tickets(tickets: Iterable[Ticket], cluster: str) -> list[Ticket]:
    """Return the tickets that wait for slots of this cluster, oldest first.

    Tickets are matched by the cluster's name. So if two inventories give one cluster different names, their tickets are
    in different queues."""
    waiting = [ticket for ticket in tickets if ticket.kind == WAITS and ticket.cluster == cluster]
    return sorted(waiting, key=lambda ticket: ticket.number)


def read_ticket(number: int, age_s: int, line: str, now: int) -> Ticket | None:
    """Return the ticket with the content `line`. Return None if `line` is not as hvdocker writes it: any user of the
    host can write such a file.

    `number` is the name of the ticket's file. `age_s` is the time since the ticket was renewed. `now` is the host's
    clock in Unix seconds."""
    holder = read_holder(line, age_s, now)
    if not holder.is_known:
        return None
    found = json.loads(line)
    record: Mapping[str, Any] = found  # Any: parsed JSON; it has a token, so it is a mapping
    kind, wish = text_field(record, "kind"), text_field(record, "wish")
    return Ticket(**asdict(holder), kind=kind, wish=wish, number=number)


def ordinal(number: int) -> str:
    """Return the number as an English ordinal: 1st, 2nd, 11th."""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def queue_positions(tickets: Mapping[str, Sequence[Ticket]]) -> list[tuple[int, str, Ticket]]:
    """Return every position in the queues of these hosts as (position from 1, host, ticket).

    `tickets` has the tickets of each host. The result is ordered by host, then by cluster, then by position."""
    found = []
    for host, there in tickets.items():
        for cluster in sorted({ticket.cluster for ticket in there}):
            found += [(n, host, ticket) for n, ticket in enumerate(waiting_tickets(there, cluster), start=1)]
    return found
