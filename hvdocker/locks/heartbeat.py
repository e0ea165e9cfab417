"""Heartbeat of a run: one ticket on every host that has containers of the run.

`gc` finds the ticket beside the containers and so knows that the run is alive. The tickets are on every host
because inventories of different users may name different hosts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hvdocker.locks.held_ticket import BEAT_S, HeldTicket, make_ticket_text
from hvdocker.locks.holder import Claim
from hvdocker.transport.background import run_uninterrupted
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import for_each_host


@contextmanager
def heartbeat_on_all_hosts(
    links: Mapping[str, HostLink], claim: Claim, kind: str, wish: str, beat_s: float = BEAT_S
) -> Iterator[None]:
    """Keep one ticket on every host, all with the claim's token, until the block ends.

    Each ticket is renewed by its own thread, so that a host that hangs does not stop the other heartbeats."""
    sign = make_ticket_text(claim, kind, wish)
    tickets = {name: HeldTicket(link, sign) for name, link in links.items()}
    try:
        run_uninterrupted(lambda: _join(tickets))
        for ticket in tickets.values():
            threading.Thread(target=ticket.renew_until_left, args=(beat_s,), name="ticket", daemon=True).start()
        yield
    finally:
        run_uninterrupted(lambda: for_each_host(tickets, lambda name: tickets[name].leave()))


def _join(tickets: Mapping[str, HeldTicket]) -> None:
    for_each_host(tickets, lambda name: tickets[name].join()).or_raise("some hosts could not be told of this run")
