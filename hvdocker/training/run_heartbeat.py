"""Renew the tickets of a run for as long as its client lives, on separate connections.

Tickets lie on the hosts that have the containers, because inventories of different users name different
hosts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from hvdocker.env import Env
from hvdocker.events import ignore_events
from hvdocker.inventory.locate import Located
from hvdocker.locks.holder import Claim
from hvdocker.locks.ticket import RUNS
from hvdocker.transport.session import connected, reopen_link


@contextmanager
def run_heartbeat(env: Env, located: Located, claim: Claim, wish: str, without: Collection[str] = ()) -> Iterator[None]:
    """Renew a ticket (kind `runs`) on all reachable hosts except `without`; the others get no containers of
    the run.

    Links that are lost are opened again. Hosts of a local cluster are one machine and get one ticket."""
    from hvdocker.locks.heartbeat import heartbeat_on_all_hosts
    from hvdocker.transport.reconnecting_link import ReconnectingLink

    quiet = replace(env, listener=ignore_events)
    with connected(quiet, located, must_all=False) as session:
        links = {
            name: ReconnectingLink(name, link, partial(reopen_link, env, located, name))
            for name, link in list(session.links.items())[: 1 if located.inventory.is_local else None]
            if name not in without
        }
        try:
            with heartbeat_on_all_hosts(links, claim, RUNS, wish):
                yield
        finally:
            for link in links.values():
                link.close()
