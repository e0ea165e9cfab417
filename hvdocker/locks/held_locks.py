"""Holds the locks of several hosts while a verb changes them.

A client is one hvdocker process, such as a `hvdocker up`. It requests the locks of all hosts at once. If another client
holds one of them, this client releases the locks that it got, and then locks the hosts one by one in the order of
machine-id and address. Every client uses this order, so one of two clients that want the same hosts gets all of them.
The order can differ only for cloned machines that have the same machine-id and are reached by different addresses. Then
two clients may wait for each other until `--lock-wait` ends one of them.

While a client holds locks, it renews them every ten seconds. Such a renewal is called a beat. A lock without a beat for
a minute is stale, and another client may take it over. A beat also finds out whether this client has lost the lock:
another client took it over, or a user released it. The client then stops with exit code 5. It does not remove what it
created, because the new holder may already use that. For at most ten seconds, between the takeover and the next beat,
both clients may change the host. No lock that can be taken over prevents that.

If no lock can be written on a host (its /tmp is full or read-only) and no other client holds the lock, every verb that
takes locks fails, except `down` and `gc`. These two continue without a lock, because they free space."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from hvdocker.errors import HostUnfit, HvdockerError, Locked, raise_all
from hvdocker.events import Event, EventListener, ignore_events
from hvdocker.locks.holder import LOCK_DIR, STALE_S, Claim, Holder
from hvdocker.locks.lock_takeover_commands import (
    LockAnswer,
    beat_lock,
    look_at_lock,
    read_lock,
    release_lock,
    take_lock,
)
from hvdocker.locks.process_id import has_process_ended
from hvdocker.shell.command import Command
from hvdocker.transport.background import BackgroundThreads, run_uninterrupted
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import HostOutcomes, for_each_host
from hvdocker.units import show_seconds

BEAT_S = 10.0
TIMEOUT_S = 30.0
_POLL_S = 1.0
# A client that requests all hosts at once and does not get all of them releases its locks again. So a lock that is
# younger than this may be free soon, and it is worth waiting this long even without --lock-wait.
_BRIEF_HOLD_S = 3


class LockUnwritable(HostUnfit):
    """The error for a host on which no lock can be written (its /tmp is full or read-only) and no client holds the
    lock.

    A client is an hvdocker process."""


class LockUnusable(HostUnfit):
    """The error for a host whose lock folder is not as hvdocker makes it, so that nobody can take the lock."""


@dataclass(frozen=True)
class LockOptions:
    """How a verb takes locks.

    `inventory_flag` (` -i FILE`) is added to the hvdocker commands in error messages, so that these commands apply to
    this inventory. If `is_needed` is False, a host on which no lock can be written is used without a lock. Otherwise
    LockUnwritable is raised for it."""

    inventory_flag: str = ""
    is_needed: bool = True


@contextmanager
def hold_locks(
    links: Mapping[str, HostLink],
    claim: Claim,
    listener: EventListener = ignore_events,
    wait_s: float = 0.0,
    beat_s: float = BEAT_S,
    options: LockOptions = LockOptions(),
) -> Iterator[HeldLocks]:
    """Hold the locks of all hosts in `links` until the block ends.

    `claim` says who takes the locks and for which verb. `listener` gets notes, such as that a stale lock was taken
    over. `wait_s` is how long to wait for locks that other clients (hvdocker processes) hold. Raises Locked if another
    client still holds a lock after that time, or HostErrors if that concerns several hosts. `beat_s` is the time
    between two renewals of the locks. `options` says what to do if no lock can be written on a host."""
    held = HeldLocks(links, claim, listener, options)
    beats = threading.Thread(target=held.beat_until_released, args=(beat_s,), name="lock", daemon=True)
    beats.start()
    try:
        held.take(wait_s)
        yield held
    finally:
        held.release()


class HeldLocks:
    """The locks of the hosts in `links` that this client (hvdocker process) takes, renews and releases.

    `claim` says who takes the locks and for which verb. `listener` gets notes for the user. `options` says what to do
    if no lock can be written. `hold_locks` makes this object, and calls `beat_until_released` in a background
    thread."""

    def __init__(
        self,
        links: Mapping[str, HostLink],
        claim: Claim,
        listener: EventListener = ignore_events,
        options: LockOptions = LockOptions(),
    ) -> None:
        self._links = links
        self._claim = claim
        self._listener = listener
        self._options = options
        # True if another client held some of the locks first: the hosts may have changed since they were observed.
        self.has_waited = False
        # (machine-id, address) by host, as each host reported them. All clients sort hosts by these.
        self.sort_keys: dict[str, tuple[str, str]] = {}
        self._hosts_without_lock: set[str] = set()
        self._taken: set[str] = set()
        self._lost: dict[str, LockAnswer] = {}
        self._beating: set[str] = set()
        self._release_count = 0
        self._is_over = threading.Event()
        self._background = BackgroundThreads()

    @property
    def is_lost(self) -> bool:
        """Whether this client has lost one of its locks: another client took it over, or a user released it.

        A renewal of the lock finds this out."""
        return bool(self._lost)

    def raise_if_lost(self) -> None:
        """Raise Locked if the lock of any host is lost. Otherwise do nothing.

        Callers check this before they change a host. One lost lock stops the whole verb, even if it is the lock of
        another host."""
        for name, answer in list(self._lost.items()):
            raise self._lost_error(name, answer)

    def take(self, wait_s: float) -> None:
        """Take the locks of all hosts. They are requested at once; if another client holds some, they are taken one by
        one.

        All clients take locks one by one in the same order. Raises Locked if another client still holds a lock after
        `wait_s` seconds, or HostErrors if that concerns several hosts. If another client took its lock only a few
        seconds ago, this client waits briefly even if `wait_s` is 0."""
        deadline = time.monotonic() + wait_s
        answers = for_each_host(self._links, self._try).or_raise("some hosts could not be locked")
        held = {name: answer for name, answer in answers.items() if not answer.is_taken}
        if not held:
            return
        is_hasty = any(answer.holder and answer.holder.held_s < _BRIEF_HOLD_S for answer in held.values())
        if wait_s <= 0 and not is_hasty:
            raise_all("some hosts are locked", self._locked(held))
        self.has_waited = True
        self._release(list(self._taken))
        self._take_in_order(
            sorted(self._links, key=lambda name: (answers[name].sort_key, name)),
            max(deadline, time.monotonic() + _BRIEF_HOLD_S),
        )

    def _take_in_order(self, names: Iterable[str], deadline: float) -> None:
        for name in names:
            while not (answer := self._try(name)).is_taken:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise_all("", self._locked({name: answer}))
                self._listener(Event("lock", f"waiting: {_holder_text(answer.holder)}", name))
                time.sleep(min(_POLL_S, left))
            self._listener(Event("lock", "locked", name, is_end=True))

    def _try(self, name: str) -> LockAnswer:
        if name in self._hosts_without_lock:
            return LockAnswer("taken")
        try:
            answer = self._ask_for(name)
        except LockUnwritable as error:
            if self._options.is_needed:
                raise
            self._hosts_without_lock.add(name)
            self._listener(Event("note", f"goes on without a lock: {error.what}", name))
            return LockAnswer("taken")
        if answer.is_taken:
            self._taken.add(name)
        if answer.replaced_holder:
            self._listener(Event("note", _takeover_text(answer.replaced_holder), name))
        return answer

    def _ask_for(self, name: str) -> LockAnswer:
        """Request the lock of the host `name` and return the host's answer.

        If the holder is a process of this machine that has ended, its lock is released first. So a user who lost the
        connection and runs the verb again need not wait until the old lock is stale."""
        answer = run_lock_command(self._links[name], take_lock(self._claim))
        self.sort_keys[name] = answer.sort_key
        holder = None if answer.is_taken else answer.holder
        if holder is None or not holder.is_known or not has_process_ended(holder.process):
            return answer
        run_lock_command(self._links[name], release_lock(holder.token))
        self._listener(Event("note", f"an earlier run from here is gone: {_holder_text_with_time(holder)}", name))
        return run_lock_command(self._links[name], take_lock(self._claim))

    def release(self) -> None:
        """Release the locks of this client on all hosts, even where it is unknown whether the client got the lock.

        A lock that another client holds is kept. The lock of an unreachable host becomes stale."""
        self._is_over.set()
        self._release([name for name in self._links if name not in self._hosts_without_lock])

    def _release(self, names: list[str]) -> None:
        """Release the locks of these hosts.

        Ctrl-C meanwhile takes effect only after all hosts have answered or timed out."""
        taken = self._taken & set(names)
        self._taken -= taken
        self._release_count += 1

        def release(name: str) -> None:
            if not self._release_host(name) and name in taken:
                text = f"its lock could not be given back: it is free in {STALE_S} s"
                self._listener(Event("note", text, name))

        run_uninterrupted(lambda: for_each_host(names, release))

    def _release_host(self, name: str) -> bool:
        try:
            answer = run_lock_command(self._links[name], release_lock(self._claim.token))
        except HvdockerError:
            return False
        return not (answer.holder and answer.holder.token == self._claim.token)

    def beat_until_released(self, beat_s: float) -> None:
        """Renew the held locks every `beat_s` seconds until they are released.

        Each beat runs in its own background thread, so a host that hangs delays only its own lock."""
        # The controller renews the locks. A process on the host could renew them as long as the
        # connection is open, but the connection of a laptop that sleeps may stay open for hours.
        while not self._is_over.wait(beat_s):
            for name in list(self._taken - self._beating):
                self._beating.add(name)
                self._background.submit(partial(self._beat, name))

    def _beat(self, name: str) -> None:
        """Renew the lock of one host, and mark the lock as lost if this client no longer holds it.

        Errors are dropped by the background thread that calls this: if the host is unreachable, the verb's own commands
        fail too."""
        # A beat that overlaps a release by this client finds the lock free. That does not count as lost.
        begun_in = self._release_count
        try:
            answer = run_lock_command(self._links[name], beat_lock(self._claim.token))
            # A beat that could not write, as on a disk that became read-only, finds the lock held by this client.
            is_ours = answer.is_taken or (answer.holder is not None and answer.holder.token == self._claim.token)
            if not is_ours and begun_in == self._release_count and name not in self._lost:
                self._lost[name] = answer
                self._listener(Event("note", f"{self._lost_error(name, answer).what}; this run stops"))
        finally:
            self._beating.discard(name)

    def _locked(self, held: Mapping[str, LockAnswer]) -> list[HvdockerError]:
        """Return one Locked error for each host in `held`: the hosts whose lock another client holds.

        `held` has the answers of these hosts. Hosts with the same holder get the same text, so that the report can show
        them as one."""
        errors: list[HvdockerError] = []
        for name, answer in held.items():
            token = answer.holder.token if answer.holder else ""
            same = {n: a.holder for n, a in held.items() if a.holder and a.holder.token == token}
            oldest = max(same.values(), key=lambda holder: holder.held_s, default=None)
            words = f"hvdocker lock release {' '.join(same or [name])}{self._options.inventory_flag}"
            is_ours = oldest is not None and oldest.owner == self._claim.owner
            dead = "if that run is dead" if is_ours else "if that run is dead and its owner agrees"
            errors.append(
                Locked(
                    f"the host is locked: {_holder_text_with_time(oldest)}",
                    host=name,
                    fix=f"wait for it with --lock-wait 60; {dead}: {words}{'' if is_ours else ' --force'}",
                )
            )
        return errors

    def _lost_error(self, name: str, answer: LockAnswer) -> HvdockerError:
        now = (
            _holder_text_with_time(answer.holder)
            if answer.holder and answer.holder.is_known
            else "somebody released it"
        )
        status = f"hvdocker lock status{self._options.inventory_flag}"
        return Locked(
            f"the lock of {name} was taken away from this run: {now}",
            fix=f"see {status}, then run it again; what was made so far is still there",
        )


def query_locks(links: Mapping[str, HostLink]) -> HostOutcomes[LockAnswer]:
    """Return the state and the holder of the lock of every host. Changes nothing.

    Hosts whose lock cannot be read are in `failed` of the result."""
    return for_each_host(links, lambda name: run_lock_command(links[name], look_at_lock()))


def release_locks_of(links: Mapping[str, HostLink], holders: Mapping[str, Holder]) -> HostOutcomes[LockAnswer]:
    """Release the locks of the hosts in `holders`. Return the answers by host.

    `holders` has the expected holder by host. If another client holds the lock by now, it is kept, and the answer of
    the host names that client."""
    return for_each_host(holders, lambda name: run_lock_command(links[name], release_lock(holders[name].token)))


def run_lock_command(link: HostLink, command: Command) -> LockAnswer:
    """Run a command of lock_takeover_commands.py on the host and return the host's answer.

    Raises HostUnfit if the script did not run to its end, LockUnusable if the lock folder is unusable, and
    LockUnwritable if nothing can be written in the folder."""
    result = link.run(command, timeout_s=TIMEOUT_S)
    answer = read_lock(result.text)
    if answer is None:
        raise HostUnfit(
            "the host could not be locked: its shell did not run our script",
            host=link.name,
            lines=result.tail(),
            fix="a POSIX sh has to be on the PATH",
        )
    if answer.state == "unusable":
        raise unusable_error(link, answer)
    if answer.state == "unwritable":
        raise _unwritable_error(link, answer)
    return answer


def unusable_error(link: HostLink, answer: LockAnswer) -> LockUnusable:
    return LockUnusable(
        f"the host cannot be locked: {LOCK_DIR} is not as hvdocker makes it",
        host=link.name,
        lines=[answer.reason],
        fix=f"look what it is, then on the host: sudo rm -rf {LOCK_DIR}",
    )


def _unwritable_error(link: HostLink, answer: LockAnswer) -> LockUnwritable:
    folder = LOCK_DIR.rpartition("/")[0]
    space = f"free space there; what takes it, on the host: sudo du -xah {folder} | sort -h | tail"
    return LockUnwritable(
        f"the host cannot be locked: nothing can be written in its {folder}",
        host=link.name,
        lines=[line for line in (answer.reason, answer.disk) if line],
        fix=f"on the host: sudo chmod 1777 {folder}" if "Permission denied" in answer.reason else space,
    )


def _holder_text_with_time(holder: Holder | None) -> str:
    doing = _holder_text(holder)
    return f"{doing} since {holder.since}" if holder and holder.is_known else doing


def _holder_text(holder: Holder | None) -> str:
    if holder is None or not holder.is_known:
        return "it is not said by whom, or it is just being given back"
    return f"{holder.who} is running {holder.doing}"


def _takeover_text(holder: Holder) -> str:
    return (
        f"took over the stale lock of {holder.who} ({holder.doing}, since {holder.since}): "
        f"no sign of life for {show_seconds(holder.age_s)}"
    )


def find_dead_locks(links: Mapping[str, HostLink]) -> Mapping[str, Holder]:
    """Return, by host, the holders of dead locks.

    A lock is dead if it is stale, or if its holder is a process of this machine that has ended. A lock whose holder is
    not known (`Holder.is_known`) is never dead. Hosts whose lock cannot be read are left out."""
    holders = {name: answer.holder for name, answer in query_locks(links).done.items() if answer.holder}
    return {name: holder for name, holder in holders.items() if _is_dead(holder)}


def release_dead_locks(links: Mapping[str, HostLink]) -> Mapping[str, Holder]:
    """Release the locks that `find_dead_locks` finds, and return their former holders by host.

    A host whose lock could not be released is left out."""
    dead = find_dead_locks(links)
    released = release_locks_of(links, dead).done
    return {name: dead[name] for name, after in released.items() if after.holder is None}


def _is_dead(holder: Holder) -> bool:
    return holder.is_known and (holder.is_stale or has_process_ended(holder.process))
