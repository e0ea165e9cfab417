"""Links to all hosts of an inventory, for the length of one verb."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.errors import HvdockerError, UnknownHostKey, raise_together
from hvdocker.model.event import Event
from hvdocker.model.inventory import Host
from hvdocker.ops.env import Env
from hvdocker.ops.locate import Located

if TYPE_CHECKING:
    from hvdocker.hosts.link import HostLink


@dataclass(frozen=True)
class Session:
    links: Mapping[str, HostLink]
    failed: Mapping[str, HvdockerError]


@contextmanager
def connected(
    env: Env, located: Located, accept_new: bool = False, must_all: bool = True
) -> Iterator[Session]:
    """Opens every host at once. With `must_all` a host that cannot be reached is an error."""
    env.listener(Event("connect", f"connecting to {len(located.inventory.hosts)} hosts"))
    session = _open_all(env, located, accept_new)
    env.listener(Event("connect", "connected", is_end=True))
    try:
        if must_all:
            raise_together("some hosts cannot be reached", list(session.failed.values()))
        yield session
    finally:
        for link in session.links.values():
            link.close()


def _open_all(env: Env, located: Located, accept_new: bool) -> Session:
    """Asks about unknown keys once for all hosts; again only where a jump host stood in front of one."""
    from hvdocker.hosts.pool import each

    hosts = {host.name: host for host in located.inventory.hosts}
    links: dict[str, HostLink] = {}
    failed: dict[str, HvdockerError] = {}
    accepted: set[tuple[str, str]] = set()
    waiting = list(hosts)
    while waiting:
        outcomes = each(waiting, partial(_open_named, hosts, frozenset(accepted)))
        links |= outcomes.done
        unknown = {n: error for n, error in outcomes.failed.items() if isinstance(error, UnknownHostKey)}
        may_trust = bool(unknown) and _may_trust(env, list(unknown.values()), accept_new)
        if may_trust:
            _remember(list(unknown.values()))
            accepted |= {(error.entry, error.key_base64) for error in unknown.values()}
        waiting = list(unknown) if may_trust else []
        failed |= {n: error for n, error in outcomes.failed.items() if n not in waiting}
    return Session(links, failed)


def _open_named(hosts: Mapping[str, Host], accepted: Collection[tuple[str, str]], name: str) -> HostLink:
    return _open(hosts[name], accepted)


def _open(host: Host, accepted: Collection[tuple[str, str]]) -> HostLink:
    if host.is_local:
        from hvdocker.hosts.local import LocalLink

        return LocalLink(host.name)
    from hvdocker.hosts.ssh import open_ssh

    return open_ssh(host, accepted)


def _may_trust(env: Env, unknown: list[UnknownHostKey], accept_new: bool) -> bool:
    if accept_new:
        return True
    if not env.is_interactive:
        return False
    shown = "\n".join(
        f"  {error.host}  {error.entry}  {error.key_type} {error.fingerprint}" for error in unknown
    )
    return env.ask(f"These host keys are not known yet:\n{shown}\nTrust them and remember them?")


def _remember(unknown: list[UnknownHostKey]) -> None:
    from hvdocker.hosts import trust

    for key in {(error.entry, error.key_base64): error for error in unknown}.values():
        trust.remember(key, Path(key.known_hosts))
