"""Takes host locks for a verb that changes hosts. Also the verb `lock`, which shows the locks and releases them."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import HvdockerError, Locked, UsageProblem, raise_all
from hvdocker.events import Event
from hvdocker.inventory.inventory import Inventory
from hvdocker.inventory.locate import Located, inventory_flag
from hvdocker.locks.holder import Claim, Holder
from hvdocker.transport.session import connected

if TYPE_CHECKING:
    from hvdocker.locks.held_locks import HeldLocks
    from hvdocker.transport.link import HostLink


@contextmanager
def locked(
    env: Env, located: Located, links: Mapping[str, HostLink], verb: str, wait_s: float, is_needed: bool = True
) -> Iterator[HeldLocks]:
    """Hold the locks of the hosts in `links` until the block ends.

    `verb` (`up`) is written into the locks, for other users to read. `wait_s` is how long to wait for locks that other
    clients (hvdocker processes) hold. After that time Locked is raised, or HostErrors for several hosts. Inside the
    block the caller must read the state of the hosts again, because another client may have changed them before the
    locks were taken. If `is_needed` is False, a host on which no lock can be written is used without a lock."""
    from hvdocker.locks.held_locks import LockOptions, hold_locks

    claim = make_claim(env, located, verb)
    options = LockOptions(inventory_flag(env, located), is_needed)
    if located.inventory.is_local:
        # All workers of a local cluster are on one machine, which has one lock.
        links = dict(list(links.items())[:1])
    with hold_locks(links, claim, env.listener, wait_s, options=options) as held:
        yield held


def clear_dead_locks(env: Env, located: Located, links: Mapping[str, HostLink], is_dry_run: bool = False) -> None:
    """Release the locks that dead clients (hvdocker processes) left, and send a note for each.

    With `is_dry_run` only the notes are sent. `find_dead_locks` says which locks count as dead. `down` and `gc` call
    this, because they take no lock if they have nothing to remove, and so would leave a dead lock in place."""
    from hvdocker.locks.held_locks import find_dead_locks, release_dead_locks

    if located.inventory.is_local:
        links = dict(list(links.items())[:1])
    found = find_dead_locks(links) if is_dry_run else release_dead_locks(links)
    does = "would release" if is_dry_run else "released"
    for name, holder in found.items():
        env.listener(Event("note", f"{does} the lock of {holder.who}, which is gone: {holder.doing}", name))


def make_claim(env: Env, located: Located, verb: str) -> Claim:
    """Return the claim of this process (what it writes into locks and tickets), with a new random token.

    `verb` is the command that the user runs, such as `up`."""
    from hvdocker.locks.process_id import own_process_id

    return Claim(
        token=env.entropy(16).hex(),
        owner=env.maker().owner,
        machine=platform.node(),
        user=env.environ.get("USER", ""),
        verb=verb,
        cluster=located.inventory.cluster,
        process=own_process_id(),
    )


@dataclass(frozen=True)
class LockReport:
    """The locks of all hosts, by host name.

    `holders` has None for a host whose lock is free. `errors` has the hosts whose lock could not be read."""

    inventory: Inventory
    holders: Mapping[str, Holder | None]
    errors: Mapping[str, HvdockerError] = field(default_factory=dict)

    def as_json(self) -> Mapping[str, object]:
        return {"hosts": [self._host(host.name) for host in self.inventory.hosts]}

    def _host(self, name: str) -> Mapping[str, object]:
        holder, error = self.holders.get(name), self.errors.get(name)
        return {
            "name": name,
            "state": self.state(name),
            "held_by": holder.as_dict() if holder else None,
            "error": str(error) if error else None,
        }

    def state(self, name: str) -> str:
        """Return the state of a host's lock: free, held, stale, unreachable or unusable.

        Unusable means that the host was reached, but its lock could not be read."""
        if name in self.errors:
            return "unreachable" if self.errors[name].exit_code == 4 else "unusable"
        holder = self.holders.get(name)
        if holder is None:
            return "free"
        return "stale" if holder.is_stale else "held"


def lock_status(env: Env, located: Located) -> LockReport:
    """Read the locks of all hosts. Changes nothing.

    A host that cannot be reached or read is in `errors` of the report."""
    with connected(env, located, must_all=False) as session:
        from hvdocker.locks.held_locks import query_locks

        seen = query_locks(session.links)
        holders = {name: answer.holder for name, answer in seen.done.items()}
        return LockReport(located.inventory, holders, {**session.failed, **seen.failed})


def lock_release(
    env: Env, located: Located, hosts: Sequence[str], is_forced: bool = False, is_sure: bool = False
) -> Mapping[str, Holder]:
    """Release the locks of these hosts, or of all hosts if `hosts` is empty. Return the former holders by host.

    A lock of another owner is released only if `is_forced`. The user is asked first unless `is_sure`; if the user
    refuses or cannot be asked, HvdockerError is raised and no lock is released.

    Errors of single hosts are raised at the end, after all other locks were released: a lock cannot be read or
    released, another owner holds it, or another client has taken it meanwhile. A name in `hosts` that is not in the
    inventory raises UsageProblem."""
    wanted = _selected_hosts(located.inventory, hosts)
    with connected(env, located, must_all=False) as session:
        from hvdocker.locks.held_locks import query_locks, release_locks_of

        links = {name: link for name, link in session.links.items() if name in wanted}
        seen = query_locks(links)
        holders = {name: answer.holder for name, answer in seen.done.items() if answer.holder}
        owner = env.maker().owner
        own = {name: holder for name, holder in holders.items() if is_forced or holder.owner == owner}
        _confirm(env, own, is_sure)
        done = release_locks_of(links, own)
        errors = [error for name, error in session.failed.items() if name in wanted]
        errors += [*seen.failed.values(), *done.failed.values()]
        errors += [_foreign_lock_error(name, holder) for name, holder in holders.items() if name not in own]
        errors += [_foreign_lock_error(name, after.holder) for name, after in done.done.items() if after.holder]
    raise_all("some locks were not released", errors)
    return own


def _selected_hosts(inventory: Inventory, hosts: Sequence[str]) -> set[str]:
    known = {word: host.name for host in inventory.hosts for word in (host.host, host.name)}
    unknown = [name for name in hosts if name not in known]
    if unknown:
        raise UsageProblem(
            f"{', '.join(unknown)} is not in the inventory",
            fix=f"hosts are {', '.join(host.name for host in inventory.hosts)}",
        )
    return {known[name] for name in hosts} or {host.name for host in inventory.hosts}


def _confirm(env: Env, holders: Mapping[str, Holder], is_sure: bool) -> None:
    if is_sure or not holders:
        return
    shown = "; ".join(
        f"{name}: {holder.who}, {holder.doing}, last heard of {holder.age_s} s ago" for name, holder in holders.items()
    )
    if not env.is_interactive:
        raise UsageProblem(f"these locks are held: {shown}", fix="say -y to release them")
    if not env.ask(f"These locks are held: {shown}. Release them?"):
        raise HvdockerError("nothing was done")


def _foreign_lock_error(name: str, holder: Holder) -> HvdockerError:
    return Locked(
        f"the lock belongs to {holder.who}: {holder.doing}, since {holder.since}",
        host=name,
        fix=f"ask {holder.owner}, or release it all the same with --force",
    )
