"""Holding the locks of some hosts while a verb changes them.

All hosts are asked at once. Where one is held by somebody else, whatever was got is given back, and the
hosts are taken one after the other, sorted by what the hosts say of themselves: of two runs that want the
same hosts one gets them all. The order is the same for everybody unless machines are clones with one
machine-id and are reached by different addresses; then two runs may wait for each other, until `--lock-
wait` ends one of them.

While they are held, a beat every ten seconds says that the holder is alive. A beat that finds another
holder means that this run was silent for a minute and was taken for dead, or that a person released its
lock: it must not go on changing hosts, nor undo what another run may build upon.

A host on which no lock can be written, because its /tmp is full, refuses every verb but `down`, which frees
what jobs have filled and goes on without."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from hvdocker.errors import HostUnfit, HvdockerError, Locked, raise_all
from hvdocker.events import Event, Listener, ignore
from hvdocker.locks.holder import LOCK_DIR, STALE_S, Claim, Holder
from hvdocker.locks.lock_commands import (
    LockAnswer,
    beat_lock,
    look_at_lock,
    read_lock,
    release_lock,
    take_lock,
)
from hvdocker.locks.process_id import is_gone
from hvdocker.shell.command import Command
from hvdocker.transport.background import BackgroundThreads, uninterrupted
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import Outcomes, each
from hvdocker.units import show_seconds

BEAT_S = 10.0
TIMEOUT_S = 30.0
_POLL_S = 1.0
# A lock younger than this may be one that another run got while it tried all hosts at once, and gives back.
_HASTY_S = 3


class Unwritable(HostUnfit):
    """No lock can be written there, and nobody holds one."""


@dataclass(frozen=True)
class LockOptions:
    """`inventory_flag` is what our own commands need to mean this cluster (` -i FILE`). A lock that is not
    needed is done without where none can be written."""

    inventory_flag: str = ""
    is_needed: bool = True


@contextmanager
def holding(
    links: Mapping[str, HostLink],
    claim: Claim,
    listener: Listener = ignore,
    wait_s: float = 0.0,
    beat_s: float = BEAT_S,
    manner: LockOptions = LockOptions(),
) -> Iterator[HeldLocks]:
    """The locks of all these hosts, for as long as the block lasts."""
    held = HeldLocks(links, claim, listener, manner)
    beats = threading.Thread(target=held.beat_on, args=(beat_s,), name="lock", daemon=True)
    beats.start()
    try:
        held.take(wait_s)
        yield held
    finally:
        held.give_back()


class HeldLocks:
    """The locks of one run."""

    def __init__(
        self,
        links: Mapping[str, HostLink],
        claim: Claim,
        listener: Listener = ignore,
        manner: LockOptions = LockOptions(),
    ) -> None:
        self._links = links
        self._claim = claim
        self._listener = listener
        self._manner = manner
        # Somebody else was at work on the hosts until we got them.
        self.has_waited = False
        # What sorts hosts alike for everybody, as each has told it.
        self.orders: dict[str, tuple[str, str]] = {}
        self._without: set[str] = set()
        self._taken: set[str] = set()
        self._lost: dict[str, LockAnswer] = {}
        self._beating: set[str] = set()
        self._round = 0
        self._is_over = threading.Event()
        self._aside = BackgroundThreads()

    @property
    def is_lost(self) -> bool:
        return bool(self._lost)

    def check(self) -> None:
        """Raises where a lock is not ours any more, whichever host is being worked on."""
        for name, answer in list(self._lost.items()):
            raise self._lost_error(name, answer)

    def take(self, wait_s: float) -> None:
        deadline = time.monotonic() + wait_s
        answers = each(self._links, self._try).or_raise("some hosts could not be locked")
        held = {name: answer for name, answer in answers.items() if not answer.is_taken}
        if not held:
            return
        is_hasty = any(answer.holder and answer.holder.held_s < _HASTY_S for answer in held.values())
        if wait_s <= 0 and not is_hasty:
            raise_all("some hosts are locked", self._locked(held))
        self.has_waited = True
        self._release(list(self._taken))
        self._take_in_order(
            sorted(self._links, key=lambda name: (answers[name].order, name)),
            max(deadline, time.monotonic() + _HASTY_S),
        )

    def _take_in_order(self, names: Iterable[str], deadline: float) -> None:
        for name in names:
            while not (answer := self._try(name)).is_taken:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise_all("", self._locked({name: answer}))
                self._listener(Event("lock", f"waiting: {_doing(answer.holder)}", name))
                time.sleep(min(_POLL_S, left))
            self._listener(Event("lock", "locked", name, is_end=True))

    def _try(self, name: str) -> LockAnswer:
        if name in self._without:
            return LockAnswer("taken")
        try:
            answer = self._ask_for(name)
        except Unwritable as error:
            if self._manner.is_needed:
                raise
            self._without.add(name)
            self._listener(Event("note", f"goes on without a lock: {error.what}", name))
            return LockAnswer("taken")
        if answer.is_taken:
            self._taken.add(name)
        if answer.robbed:
            self._listener(Event("note", _robbed(answer.robbed), name))
        return answer

    def _ask_for(self, name: str) -> LockAnswer:
        """A lock of a process of this machine that is gone is nobody's: whoever lost the connection and tries
        again need not wait for it to go stale."""
        answer = ask(self._links[name], take_lock(self._claim))
        self.orders[name] = answer.order
        holder = None if answer.is_taken else answer.holder
        if holder is None or not holder.is_named or not is_gone(holder.process):
            return answer
        ask(self._links[name], release_lock(holder.token))
        self._listener(Event("note", f"an earlier run from here is gone: {_sentence(holder)}", name))
        return ask(self._links[name], take_lock(self._claim))

    def give_back(self) -> None:
        """Also where it is not known whether a lock was got: what is not ours is left alone. A host that is
        gone frees itself."""
        self._is_over.set()
        self._release([name for name in self._links if name not in self._without])

    def _release(self, names: list[str]) -> None:
        """Every host is asked once, whatever Ctrl-C says; it counts when all have answered or timed out."""
        taken = self._taken & set(names)
        self._taken -= taken
        self._round += 1

        def give_back(name: str) -> None:
            if not self._gives_back(name) and name in taken:
                text = f"its lock could not be given back: it is free in {STALE_S} s"
                self._listener(Event("note", text, name))

        uninterrupted(lambda: each(names, give_back))

    def _gives_back(self, name: str) -> bool:
        try:
            answer = ask(self._links[name], release_lock(self._claim.token))
        except HvdockerError:
            return False
        return not (answer.holder and answer.holder.token == self._claim.token)

    def beat_on(self, beat_s: float) -> None:
        """Each beat apart from the others: a host that is stuck holds up nobody's lock but its own."""
        while not self._is_over.wait(beat_s):
            for name in list(self._taken - self._beating):
                self._beating.add(name)
                self._aside.do(partial(self._beat, name))

    def _beat(self, name: str) -> None:
        """A host that cannot be asked now is noticed by whatever else is done with it."""
        begun_in = self._round
        try:
            answer = ask(self._links[name], beat_lock(self._claim.token))
            if not answer.is_taken and begun_in == self._round and name not in self._lost:
                self._lost[name] = answer
                self._listener(Event("note", f"{self._lost_error(name, answer).what}; this run stops"))
        finally:
            self._beating.discard(name)

    def _locked(self, held: Mapping[str, LockAnswer]) -> list[HvdockerError]:
        """One text for all hosts of the same holder, so that they are shown as one."""
        errors: list[HvdockerError] = []
        for name, answer in held.items():
            token = answer.holder.token if answer.holder else ""
            same = {n: a.holder for n, a in held.items() if a.holder and a.holder.token == token}
            oldest = max(same.values(), key=lambda holder: holder.held_s, default=None)
            words = f"hvdocker lock release {' '.join(same or [name])}{self._manner.inventory_flag}"
            is_ours = oldest is not None and oldest.owner == self._claim.owner
            dead = "if that run is dead" if is_ours else "if that run is dead and its owner agrees"
            errors.append(
                Locked(
                    f"the host is locked: {_sentence(oldest)}",
                    host=name,
                    fix=f"wait for it with --lock-wait 60; {dead}: {words}{'' if is_ours else ' --force'}",
                )
            )
        return errors

    def _lost_error(self, name: str, answer: LockAnswer) -> HvdockerError:
        now = _sentence(answer.holder) if answer.holder and answer.holder.is_named else "somebody released it"
        status = f"hvdocker lock status{self._manner.inventory_flag}"
        return Locked(
            f"the lock of {name} was taken away from this run: {now}",
            fix=f"see {status}, then run it again; what was made so far is still there",
        )


def look(links: Mapping[str, HostLink]) -> Outcomes[LockAnswer]:
    return each(links, lambda name: ask(links[name], look_at_lock()))


def release(links: Mapping[str, HostLink], holders: Mapping[str, Holder]) -> Outcomes[LockAnswer]:
    """Only from those holders: a lock that has changed hands since stays."""
    return each(holders, lambda name: ask(links[name], release_lock(holders[name].token)))


def ask(link: HostLink, command: Command) -> LockAnswer:
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
        raise unusable(link, answer)
    if answer.state == "unwritable":
        raise _unwritable(link, answer)
    return answer


def unusable(link: HostLink, answer: LockAnswer) -> HvdockerError:
    return HostUnfit(
        f"the host cannot be locked: {LOCK_DIR} is not as hvdocker makes it",
        host=link.name,
        lines=[answer.reason],
        fix=f"look what it is, then on the host: sudo rm -rf {LOCK_DIR}",
    )


def _unwritable(link: HostLink, answer: LockAnswer) -> Unwritable:
    folder = LOCK_DIR.rpartition("/")[0]
    return Unwritable(
        f"the host cannot be locked: nothing can be written in its {folder}",
        host=link.name,
        lines=[line for line in (answer.reason, answer.disk) if line],
        fix=f"free space there; what takes it, on the host: sudo du -xah {folder} | sort -h | tail",
    )


def _sentence(holder: Holder | None) -> str:
    doing = _doing(holder)
    return f"{doing} since {holder.since}" if holder and holder.is_named else doing


def _doing(holder: Holder | None) -> str:
    if holder is None or not holder.is_named:
        return "it is not said by whom, or it is just being given back"
    return f"{holder.who} is running {holder.doing}"


def _robbed(holder: Holder) -> str:
    return (
        f"took over the stale lock of {holder.who} ({holder.doing}, since {holder.since}): "
        f"no sign of life for {show_seconds(holder.age_s)}"
    )


def look_for_dead(links: Mapping[str, HostLink]) -> Mapping[str, Holder]:
    """Locks whose holder gave no sign of life for long, or was a process of this machine that is gone. A host
    that cannot tell is passed over."""
    holders = {name: answer.holder for name, answer in look(links).done.items() if answer.holder}
    return {name: holder for name, holder in holders.items() if _is_dead(holder)}


def clear_dead(links: Mapping[str, HostLink]) -> Mapping[str, Holder]:
    """Releases such locks; whose they were."""
    dead = look_for_dead(links)
    released = release(links, dead).done
    return {name: dead[name] for name, after in released.items() if after.holder is None}


def _is_dead(holder: Holder) -> bool:
    return holder.is_named and (holder.is_stale or is_gone(holder.process))
