"""Holding the locks of some hosts while a verb changes them.

All hosts are asked at once. Where one is held by somebody else, whatever was got is given back, and the
hosts are taken one after the other, sorted by what the hosts say of themselves: of two runs that want the
same hosts one gets them all. The order is the same for everybody unless machines are clones with one
machine-id and are reached by different addresses; then two runs may wait for each other, until `--lock-
wait` ends one of them.

While they are held, a beat every ten seconds says that the holder is alive. A beat that finds another
holder means that this run was silent for a minute and was taken for dead, or that a person released its
lock: it must not go on changing hosts, nor undo what another run may build upon."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from hvdocker.commands.command import Command
from hvdocker.commands.lock import LockAnswer, beat_lock, look_at_lock, read_lock, release_lock, take_lock
from hvdocker.errors import HostUnfit, HvdockerError, Locked, raise_together
from hvdocker.hosts.aside import Aside
from hvdocker.hosts.link import HostLink
from hvdocker.hosts.pool import Outcomes, each
from hvdocker.model.event import Event, Listener, ignore
from hvdocker.model.lock import LOCK_DIR, STALE_S, Claim, Holder
from hvdocker.model.units import show_seconds

BEAT_S = 10.0
TIMEOUT_S = 30.0
_POLL_S = 1.0
# A lock younger than this may be one that another run got while it tried all hosts at once, and gives back.
_HASTY_S = 3


@contextmanager
def holding(
    links: Mapping[str, HostLink],
    claim: Claim,
    listener: Listener = ignore,
    wait_s: float = 0.0,
    beat_s: float = BEAT_S,
) -> Iterator[Held]:
    """The locks of all these hosts, for as long as the block lasts."""
    held = Held(links, claim, listener)
    beats = threading.Thread(target=held.beat_on, args=(beat_s,), name="lock", daemon=True)
    beats.start()
    try:
        held.take(wait_s)
        yield held
    finally:
        held.give_back()


class Held:
    """The locks of one run."""

    def __init__(self, links: Mapping[str, HostLink], claim: Claim, listener: Listener = ignore) -> None:
        self._links = links
        self._claim = claim
        self._listener = listener
        self._taken: set[str] = set()
        self._lost: dict[str, LockAnswer] = {}
        self._beating: set[str] = set()
        self._round = 0
        self._is_over = threading.Event()
        self._aside = Aside()

    @property
    def is_lost(self) -> bool:
        return bool(self._lost)

    def check(self) -> None:
        """Raises where a lock is not ours any more, whichever host is being worked on."""
        for name, answer in list(self._lost.items()):
            raise _lost(name, answer)

    def take(self, wait_s: float) -> None:
        deadline = time.monotonic() + wait_s
        answers = each(self._links, self._try).or_raise("some hosts could not be locked")
        held = {name: answer for name, answer in answers.items() if not answer.is_taken}
        if not held:
            return
        is_hasty = any(answer.holder and answer.holder.held_s < _HASTY_S for answer in held.values())
        if wait_s <= 0 and not is_hasty:
            raise_together("some hosts are locked", _locked(held))
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
                    raise_together("", _locked({name: answer}))
                self._listener(Event("lock", f"waiting: {_doing(answer.holder)}", name))
                time.sleep(min(_POLL_S, left))
            self._listener(Event("lock", "locked", name, is_end=True))

    def _try(self, name: str) -> LockAnswer:
        answer = ask(self._links[name], take_lock(self._claim))
        if answer.is_taken:
            self._taken.add(name)
        if answer.robbed:
            self._listener(Event("note", _robbed(answer.robbed), name))
        return answer

    def give_back(self) -> None:
        """Also where it is not known whether a lock was got: what is not ours is left alone. A host that is
        gone frees itself."""
        self._is_over.set()
        taken = set(self._taken)
        for name in taken & set(self._release(list(self._links)).failed):
            text = f"its lock could not be given back: it is free in {STALE_S} s"
            self._listener(Event("note", text, name))

    def _release(self, names: list[str]) -> Outcomes[LockAnswer]:
        """Ctrl-C ends it only when every host was asked."""
        self._taken -= set(names)
        self._round += 1
        is_interrupted = False
        while True:
            try:
                done = each(names, lambda name: ask(self._links[name], release_lock(self._claim.token)))
                break
            except KeyboardInterrupt:
                is_interrupted = True
        if is_interrupted:
            raise KeyboardInterrupt
        return done

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
                self._listener(Event("note", f"{_lost(name, answer).what}; this run stops"))
        finally:
            self._beating.discard(name)


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
    return answer


def unusable(link: HostLink, answer: LockAnswer) -> HvdockerError:
    return HostUnfit(
        f"the host cannot be locked: {LOCK_DIR} is not as hvdocker makes it",
        host=link.name,
        lines=[answer.reason],
        fix=f"look what it is, then on the host: sudo rm -rf {LOCK_DIR}",
    )


def _locked(held: Mapping[str, LockAnswer]) -> list[HvdockerError]:
    """One text for all hosts of the same holder, so that they are shown as one."""
    errors: list[HvdockerError] = []
    for name, answer in held.items():
        token = answer.holder.token if answer.holder else ""
        same = {n: a.holder for n, a in held.items() if a.holder and a.holder.token == token}
        oldest = max(same.values(), key=lambda holder: holder.held_s, default=None)
        errors.append(
            Locked(
                f"the host is locked: {_sentence(oldest)}",
                host=name,
                fix="wait for it with --lock-wait 60; if that run is dead: hvdocker lock release "
                + " ".join(same or [name]),
            )
        )
    return errors


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


def _lost(name: str, answer: LockAnswer) -> HvdockerError:
    now = _sentence(answer.holder) if answer.holder and answer.holder.is_named else "somebody released it"
    return Locked(
        f"the lock of {name} was taken away from this run: {now}",
        fix="see hvdocker lock status, then run it again; what was made so far is still there",
    )
