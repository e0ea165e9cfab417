"""The heartbeat of a `hvdocker run`: one ticket (a file that the controller renews) on every host with containers of
the run.

`gc` finds the ticket on the same host as the containers, and so knows that the `hvdocker run` is alive. Every host has
a ticket, because another user's inventory may name only some of the hosts."""

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
    """Keep one ticket on every host in `links` until the block ends. `claim` says who this client (hvdocker process)
    is; all tickets have its token.

    `kind` is WAITS (the client waits for slots) or RUNS (it is a `hvdocker run`). `wish` says what the caller asks for,
    as text for other users (`4 slots`). Each ticket is renewed every `beat_s` seconds by its own thread, so a host that
    hangs does not stop the heartbeats on the other hosts. Raises HvdockerError if the ticket cannot be created on some
    host."""
    text = make_ticket_text(claim, kind, wish)
    tickets = {name: HeldTicket(link, text) for name, link in links.items()}
    try:
        run_uninterrupted(lambda: _join(tickets))
        for ticket in tickets.values():
            threading.Thread(target=ticket.renew_until_left, args=(beat_s,), name="ticket", daemon=True).start()
        yield
    finally:
        run_uninterrupted(lambda: for_each_host(tickets, lambda name: tickets[name].leave()))


def _join(tickets: Mapping[str, HeldTicket]) -> None:
    for_each_host(tickets, lambda name: tickets[name].join()).or_raise("some hosts could not be told of this run")
