"""Renews the tickets of a `run` on its hosts while the `run` command is alive, over connections of its own.

`gc` removes the containers of a `run` that has no live ticket. There is a ticket on every host that may have
containers of the `run`, because the `gc` of another user may see only some of these hosts."""

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
    """Renew a ticket of this `run` on all reachable hosts while the `with` block runs. Lost links are opened again.
    `claim` has the token of the `run`, which goes into the tickets.

    `wish` is the request as text for other users, such as `4 ranks`. The hosts `without` get no ticket, because they
    get no containers of the `run`. All workers of a local cluster are on one machine, which gets one ticket."""
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
