"""Links to all hosts of an inventory, for the length of one verb."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hvdocker.errors import HvdockerError, LockedKey, UnknownHostKey, raise_together
from hvdocker.model import names
from hvdocker.model.event import Event
from hvdocker.model.inventory import Host
from hvdocker.model.seen import ClusterState
from hvdocker.ops.env import Env
from hvdocker.ops.locate import Located

if TYPE_CHECKING:
    from hvdocker.hosts.connect import Credentials
    from hvdocker.hosts.link import HostLink

PASSPHRASE_TRIES = 3


@dataclass(frozen=True)
class Session:
    links: dict[str, HostLink]
    failed: Mapping[str, HvdockerError]

    def put(self, link: HostLink) -> None:
        """A new link to a host, in place of one that broke."""
        broken = self.links.get(link.name)
        self.links[link.name] = link
        if broken:
            broken.close()


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


def with_image(located: Located, session: Session) -> Located:
    """The image where the inventory names none: the one with CUDA where a host has GPUs. Workers of a local
    cluster get one each, or none does."""
    inventory = located.inventory
    if inventory.has_named_image or not session.links:
        return located
    from hvdocker.hosts.observe import see_gpus_of

    names_to_ask = list(session.links)[:1] if inventory.is_local else list(session.links)
    counts = see_gpus_of({name: session.links[name] for name in names_to_ask})
    least = len(inventory.hosts) if inventory.is_local else 1
    image = names.GPU_IMAGE if any(count >= least for count in counts.values()) else names.DEFAULT_IMAGE
    return replace(located, inventory=replace(inventory, image=image))


def members_state(
    located: Located,
    session: Session,
    with_images: bool = False,
    without_gpus: Collection[str] = (),
    may_miss: bool = False,
) -> ClusterState:
    """The state of a cluster that should be up. Hosts that cannot be used are no matter where it was asked
    for some slots only, and has them all elsewhere; nor where some may be missing."""
    from hvdocker.hosts.observe import partial_state
    from hvdocker.plan.extent import is_complete

    state, unfit = partial_state(located.inventory, session.links, with_images, without_gpus)
    failed = [*session.failed.values(), *unfit.values()]
    if may_miss and state.hosts:
        return state
    if failed and not is_complete(located.inventory, state):
        raise_together("some hosts cannot be used", failed)
    return state


def _open_all(env: Env, located: Located, accept_new: bool) -> Session:
    """Asks about unknown host keys and locked key files once for all hosts, and tries those hosts again; more
    than once only where a jump host stood in front of one."""
    from hvdocker.hosts.connect import Credentials
    from hvdocker.hosts.pool import each

    hosts = {host.name: host for host in located.inventory.hosts}
    links: dict[str, HostLink] = {}
    failed: dict[str, HvdockerError] = {}
    accepted: set[tuple[str, str]] = set()
    waiting = list(hosts)
    credentials = Credentials(env.passphrases, accepted)
    for note in credentials.notes:
        env.listener(Event("note", note))
    threading.Thread(target=_import_what_comes_next).start()
    while waiting:
        outcomes = each(waiting, partial(_open_named, hosts, credentials))
        links |= outcomes.done
        settled = _trusted(env, outcomes.failed, accept_new, accepted) | _unlocked(env, outcomes.failed)
        failed |= {name: error for name, error in outcomes.failed.items() if name not in settled}
        waiting = [name for name in outcomes.failed if name in settled]
    return Session(links, failed)


def _import_what_comes_next() -> None:
    """In every verb, and half of what all imports cost: done while the hosts answer."""
    import_module("hvdocker.hosts.observe")
    import_module("hvdocker.hosts.apply")


def _open_named(hosts: Mapping[str, Host], credentials: Credentials, name: str) -> HostLink:
    if hosts[name].is_local:
        from hvdocker.hosts.local import LocalLink

        return LocalLink(name)
    from hvdocker.hosts.ssh import open_ssh

    return open_ssh(hosts[name], credentials)


def reopened(env: Env, located: Located, name: str) -> HostLink:
    """A link to one host once more, by what a person answered before."""
    from hvdocker.hosts.connect import Credentials

    host = located.inventory.named(name)
    return _open_named({name: host}, Credentials(env.passphrases), name)


def _trusted(
    env: Env, failed: Mapping[str, HvdockerError], accept_new: bool, accepted: set[tuple[str, str]]
) -> set[str]:
    """The hosts whose keys a person believes now; these are remembered and added to `accepted`."""
    unknown = {name: error for name, error in failed.items() if isinstance(error, UnknownHostKey)}
    if not unknown or not _may_trust(env, list(unknown.values()), accept_new):
        return set()
    _remember(list(unknown.values()))
    accepted |= {(error.entry, error.key_base64) for error in unknown.values()}
    return set(unknown)


def _unlocked(env: Env, failed: Mapping[str, HvdockerError]) -> set[str]:
    """The hosts whose key files a person opened now; others are told what became of the asking."""
    locked = {name: error for name, error in failed.items() if isinstance(error, LockedKey)}
    if not locked or not env.is_interactive:
        return set()
    paths = dict.fromkeys(error.path for error in locked.values())
    opened = {path for path in paths if _ask_passphrase(env, path)}
    for error in locked.values():
        if error.path not in opened:
            error.what = f"the SSH key {error.path} did not open: no passphrase fitted"
    return {name for name, error in locked.items() if error.path in opened}


def _ask_passphrase(env: Env, path: str) -> bool:
    from hvdocker.hosts.login import opens

    for _ in range(PASSPHRASE_TRIES):
        passphrase = env.ask_secret(f"Passphrase of {path}")
        if not passphrase:
            return False
        if opens(path, passphrase):
            env.passphrases[path] = passphrase
            return True
    return False


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
