"""Opens the links to all hosts of an inventory for a verb; asks the user about host keys and passphrases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import HvdockerError, PassphraseRequired, UnknownHostKey, raise_all
from hvdocker.events import Event
from hvdocker.inventory.inventory import Host
from hvdocker.inventory.locate import Located

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink
    from hvdocker.transport.ssh.connect import Credentials

PASSPHRASE_TRIES = 3
MOST_NAMED = 4


@dataclass(frozen=True)
class Session:
    """The open links by host name. `failed` has the errors of the hosts that could not be reached, also by host
    name."""

    links: dict[str, HostLink]
    failed: Mapping[str, HvdockerError]

    def replace_link(self, link: HostLink) -> None:
        """Use `link` from now on for its host (`link.name`), and close the broken link that the host had before."""
        broken = self.links.get(link.name)
        self.links[link.name] = link
        if broken:
            broken.close()


@contextmanager
def connected(env: Env, located: Located, accept_new: bool = False, must_all: bool = True) -> Iterator[Session]:
    """Connect to all hosts of the inventory at once, yield the session, and close its links at the end.

    With `must_all` an unreachable host raises its HvdockerError (several raise HostErrors); otherwise it is listed in
    `failed` of the session. `accept_new` trusts unknown host keys without asking."""
    env.listener(Event("connect", f"connecting to {_listed([host.name for host in located.inventory.hosts])}"))
    session = _open_all(env, located, accept_new)
    env.listener(Event("connect", "connected", is_end=True))
    try:
        if must_all:
            raise_all("some hosts cannot be reached", list(session.failed.values()))
        yield session
    finally:
        for link in session.links.values():
            link.close()


def _open_all(env: Env, located: Located, accept_new: bool) -> Session:
    """Connect to all hosts. Ask the user once, for all hosts together, about unknown host keys (with `accept_new` they
    are trusted without asking) and about passphrases, then try the affected hosts again. Repeat this while a new try
    leads to a new question: a host whose key was just accepted may need a passphrase, and a jump host is asked about
    before the host behind it."""
    from hvdocker.transport.pool import for_each_host
    from hvdocker.transport.ssh.connect import Credentials

    hosts = {host.name: host for host in located.inventory.hosts}
    links: dict[str, HostLink] = {}
    failed: dict[str, HvdockerError] = {}
    accepted: set[tuple[str, str]] = set()
    waiting = list(hosts)
    credentials = Credentials(env.passphrases, accepted)
    for note in credentials.notes:
        env.listener(Event("note", note))
    # The CLI imports what is needed after connecting here, while the hosts answer.
    threading.Thread(target=env.while_connecting).start()
    while waiting:
        outcomes = for_each_host(waiting, _reporting_open(env, waiting, partial(_open_named, hosts, credentials)))
        links |= outcomes.done
        settled = _accept_host_keys(env, outcomes.failed, accept_new, accepted) | _unlock_key_files(
            env, outcomes.failed
        )
        failed |= {name: error for name, error in outcomes.failed.items() if name not in settled}
        waiting = [name for name in outcomes.failed if name in settled]
    for note in _same_target_notes(links):
        env.listener(Event("note", note))
    return Session(links, failed)


def _same_target_notes(links: Mapping[str, HostLink]) -> Iterator[str]:
    """Yield a note for the user about each address at which several hosts were reached. `links` are the open links by
    host name. Two hosts at one address may be a mistake in `host:` of the inventory or in ~/.ssh/config."""
    from hvdocker.transport.ssh.link import SshLink

    names: dict[str, list[str]] = {}
    for name, link in links.items():
        if isinstance(link, SshLink) and link.reached_at:
            names.setdefault(link.reached_at, []).append(name)
    for where, same in names.items():
        if len(same) > 1:
            yield f"{' and '.join(same)} are reached at one address, {where}; see `host:` and ~/.ssh/config"


def _reporting_open(env: Env, waiting: list[str], open_link: Callable[[str], HostLink]) -> Callable[[str], HostLink]:
    """Return a function that opens the link to a host with `open_link`, and afterwards tells the user which hosts
    hvdocker still waits for. `waiting` has the names of all hosts that will be opened."""
    awaited = dict.fromkeys(waiting)

    def open_one(name: str) -> HostLink:
        try:
            return open_link(name)
        finally:
            awaited.pop(name)
            if others := list(awaited):
                env.listener(Event("connect", f"waiting for {_listed(others)}"))

    return open_one


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _open_named(hosts: Mapping[str, Host], credentials: Credentials, name: str) -> HostLink:
    if hosts[name].is_local:
        from hvdocker.transport.local_link import LocalLink

        return LocalLink(name)
    from hvdocker.transport.ssh.link import open_ssh

    return open_ssh(hosts[name], credentials)


def reopen_link(env: Env, located: Located, name: str) -> HostLink:
    """Open another link to the host `name`, with the passphrases that the user gave before. The user is not asked
    again. Raise HostUnreachable if the host cannot be reached."""
    from hvdocker.transport.ssh.connect import Credentials

    host = located.inventory.named(name)
    return _open_named({name: host}, Credentials(env.passphrases), name)


def _accept_host_keys(
    env: Env, failed: Mapping[str, HvdockerError], accept_new: bool, accepted: set[tuple[str, str]]
) -> set[str]:
    """Return the hosts in `failed` whose error was an unknown host key that is trusted now. The caller connects to them
    again.

    The user is asked once about all such keys. With `accept_new` they are trusted without asking. Each trusted key is
    written to known_hosts. It is also added to `accepted`, as the pair (host as known_hosts writes it, key in base64).
    Return an empty set if the user refuses or cannot be asked."""
    unknown = {name: error for name, error in failed.items() if isinstance(error, UnknownHostKey)}
    if not unknown or not _may_trust(env, list(unknown.values()), accept_new):
        return set()
    _append_known_hosts(env, list(unknown.values()))
    accepted |= {(error.entry, error.key_base64) for error in unknown.values()}
    return set(unknown)


def _unlock_key_files(env: Env, failed: Mapping[str, HvdockerError]) -> set[str]:
    """Return the hosts in `failed` whose error was a missing passphrase that the user has now given; the caller
    connects to them again.

    The passphrases are added to `env.passphrases`. If no passphrase fitted, the error of that host is changed to say
    so. Return an empty set if the user cannot be asked."""
    locked = {name: error for name, error in failed.items() if isinstance(error, PassphraseRequired)}
    if not locked or not env.is_interactive:
        return set()
    paths = dict.fromkeys(error.path for error in locked.values())
    opened = {path for path in paths if _ask_passphrase(env, path)}
    for error in locked.values():
        if error.path not in opened:
            error.what = f"the SSH key {error.path} did not open: no passphrase fitted"
    return {name for name, error in locked.items() if error.path in opened}


def _ask_passphrase(env: Env, path: str) -> bool:
    from hvdocker.transport.ssh.auth import is_passphrase_of

    for _ in range(PASSPHRASE_TRIES):
        passphrase = env.ask_secret(f"Passphrase of {path}")
        if not passphrase:
            return False
        if is_passphrase_of(path, passphrase):
            env.passphrases[path] = passphrase
            return True
    return False


def _may_trust(env: Env, unknown: list[UnknownHostKey], accept_new: bool) -> bool:
    if accept_new:
        return True
    if not env.is_interactive:
        return False
    shown = "\n".join(f"  {error.host}  {error.entry}  {error.key_type} {error.fingerprint}" for error in unknown)
    return env.ask(f"These host keys are not known yet:\n{shown}\nTrust them and remember them?")


def _append_known_hosts(env: Env, unknown: list[UnknownHostKey]) -> None:
    """Write the keys `unknown`, which the user trusts now, to known_hosts. A file that cannot be written is no error,
    as with ssh: the keys are then trusted for this command only, and a note tells the user."""
    from hvdocker.transport.ssh import host_keys

    for key in {(error.entry, error.key_base64): error for error in unknown}.values():
        try:
            host_keys.append_known_host(key, Path(key.known_hosts))
        except OSError as error:
            what = f"the host key is trusted for this run only: {key.known_hosts} cannot be written: {error.strerror}"
            env.listener(Event("note", what, key.host))
