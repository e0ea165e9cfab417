"""Wait for slots in a queue, strictly first come, first served.

The client itself waits. Its ticket, a file on the host that sorts lowest, is its position. Every POLL_S it
renews the ticket and lists the others. The first in the queue checks without locks whether the slots
suffice, and only then takes the locks and launches; if another client takes the slots in that moment, it
keeps waiting. The ticket is removed under the lock once the master runs: from then on the master's label
holds the slots.

A `train` without `--queue` is refused while tickets wait, even if its slots are free, so that small requests
do not starve a large one. Inventories that name one cluster differently have no common queue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import ExitCode, HvdockerError, Interrupted, NotEnoughSlots, UsageProblem
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.locks.lock import make_claim
from hvdocker.locks.ticket import WAITS, Ticket, ordinal, waiting_tickets
from hvdocker.observe.state import ClusterState, HostSeen
from hvdocker.placement.observe_cluster import observe_cluster
from hvdocker.protocol.placement import Placement
from hvdocker.transport.session import Session
from hvdocker.units import pluralize

if TYPE_CHECKING:
    from hvdocker.locks.held_locks import HeldLocks
    from hvdocker.locks.held_ticket import HeldTicket

T = TypeVar("T")
# Chooses a placement from the state of the hosts. Raises NotEnoughSlots.
ChoosePlacement = Callable[[ClusterState], Placement]

POLL_S = 2.0
# A client that is not first observes the hosts less often: only to report what it waits for.
_LABELS_REFRESH_S = 10.0
# Labels name only the slots of jobs. Processes outside of hvdocker show up only in a full observation.
_FULL_REFRESH_S = 30.0
_MOST_NAMED = 3


def check_flags(is_queued: bool, is_detached: bool, is_dry_run: bool) -> None:
    """Raise UsageProblem where `--queue` is combined with `-d` or `--dry-run`."""
    if is_queued and is_detached:
        raise UsageProblem(
            "--queue and -d exclude each other: the waiting is done by this very command, and detached "
            "nobody would wait",
            fix="leave out -d and run it in tmux or screen",
        )
    if is_queued and is_dry_run:
        raise UsageProblem(
            "--queue and --dry-run exclude each other: a plan needs the slots that the queue is for",
            fix="leave out one of them; hvdocker jobs shows the queue",
        )


def slots_text(np: int | None, hosts: str | None) -> str:
    """Return the requested slots as text for the ticket."""
    return hosts or (pluralize(np, "slot") if np else "all slots")


def observe_with_queue(
    located: Located, session: Session, held: HeldLocks | None, has_turn: bool, may_miss: bool = False
) -> tuple[ClusterState, list[Ticket]]:
    """Return the state of the hosts and the tickets that wait for slots of this cluster.

    The queue is read in parallel with the observation. With `has_turn` it is not read, and the
    list is empty."""
    from hvdocker.locks.held_ticket import read_queue

    inventory, links = located.inventory, session.links
    with ThreadPoolExecutor(max_workers=1) as beside:
        asked = None
        if not has_turn:
            asked = beside.submit(read_queue, links, held.sort_keys if held else {}, held is not None)
        state = observe_cluster(located, session, may_miss=may_miss)
    return state, waiting_tickets(asked.result(), inventory.cluster) if asked else []


def place_unless_others_wait(place: ChoosePlacement, state: ClusterState, waiting: Sequence[Ticket]) -> Placement:
    """Return the placement for a client that does not wait in the queue.

    Raises NotEnoughSlots while tickets wait, even if the placement would fit."""
    try:
        placement = place(state)
    except NotEnoughSlots as error:
        if _fits_when_idle(place, state):
            error.fix = "wait for them with --queue" + (f"; or {error.fix}" if error.fix else "")
            error.lines = (*error.lines, *(f"{ticket.description} waits for slots too" for ticket in waiting))
        raise
    if waiting:
        first, *more = waiting
        verb = "wait" if more else "waits"
        also = f" and {pluralize(len(more), 'other')}" if more else ""
        raise NotEnoughSlots(
            f"{_free_text(placement)}, but {first.description}{also} {verb} before you",
            lines=[_ticket_line(ticket) for ticket in waiting],
            fix="queue up behind: --queue (without -d)",
        )
    return placement


def _free_text(placement: Placement) -> str:
    return f"{pluralize(placement.np, 'slot')} {'is' if placement.np == 1 else 'are'} free"


def _ticket_line(ticket: Ticket) -> str:
    return f"{ticket.who}: `{ticket.verb}` of {ticket.wish}, waiting for {ticket.since}"


def _fits_when_idle(place: ChoosePlacement, state: ClusterState) -> bool:
    try:
        place(without_running_jobs(state))
    except HvdockerError:
        return False
    return True


def without_running_jobs(state: ClusterState) -> ClusterState:
    """Return the state as if no job of any cluster ran and no other process used a GPU."""
    return replace(state, hosts={name: _host_without_jobs(seen) for name, seen in state.hosts.items()})


def _host_without_jobs(seen: HostSeen) -> HostSeen:
    return replace(
        seen,
        containers=tuple(one for one in seen.containers if one.role != names.ROLE_MASTER),
        other_containers=(),
        gpus=tuple(replace(gpu, processes=()) for gpu in seen.gpus),
    )


def wait_in_queue(
    env: Env, located: Located, session: Session, wish: str, place: ChoosePlacement, launch: Callable[[HeldTicket], T]
) -> T:
    """Wait for the turn and for slots, then return what `launch` returns.

    `launch` takes the locks, chooses the placement again and removes the ticket. `wish` is the request as
    text for others to read. Raises Interrupted on Ctrl-C."""
    from hvdocker.locks.held_ticket import hold_ticket

    cache = _StateCache(located, session)
    # A request that would not fit even on idle hosts fails now, not after hours of waiting.
    place(without_running_jobs(cache.refresh(is_near=True)))
    claim = make_claim(env, located, "train")
    try:
        with hold_ticket(session.links, claim, WAITS, wish, env.listener) as ticket:
            return _QueueWait(env, located, cache, place, ticket).until_launched(launch)
    except KeyboardInterrupt:
        raise Interrupted("left the queue") from None


@dataclass
class _StateCache:
    """Keeps the last observed state of the hosts and refreshes it."""

    located: Located
    session: Session
    state: ClusterState | None = None
    _looked: float = 0.0
    _looked_whole: float = 0.0

    def refresh(self, is_near: bool) -> ClusterState:
        """Return the state, refreshed where it is too old. With `is_near` (first in the queue) the labels are
        read every time."""
        from hvdocker.observe.hosts import refresh_containers

        now = time.monotonic()
        inventory, links = self.located.inventory, self.session.links
        if self.state is None or now - self._looked_whole > _FULL_REFRESH_S:
            self.state = self._whole()
            self._looked = self._looked_whole = now
        elif is_near or now - self._looked > _LABELS_REFRESH_S:
            self.state = refresh_containers(inventory, links, self.state)
            self._looked = now
        return self.state

    def _whole(self) -> ClusterState:
        """Observe everything, except GPUs whose driver failed before: every nvidia-smi call to a hanging
        driver leaves a process on the host, so it is called once."""
        before = self.state.hosts if self.state else {}
        hung = {name: seen for name, seen in before.items() if seen.gpu_error}
        state = observe_cluster(self.located, self.session, without_gpus=hung)
        known = {
            name: replace(seen, gpu_error=hung[name].gpu_error) if name in hung else seen
            for name, seen in state.hosts.items()
        }
        return replace(state, hosts=known)

    def forget(self) -> None:
        self.state = None


@dataclass
class _QueueWait:
    env: Env
    located: Located
    cache: _StateCache
    place: ChoosePlacement
    ticket: HeldTicket
    _last: str = field(default="", init=False)

    def until_launched(self, launch: Callable[[HeldTicket], T]) -> T:
        while True:
            before = self._before()
            problem = self._problem(is_near=not before)
            if not before and problem is None:
                self._say("")
                try:
                    return launch(self.ticket)
                except NotEnoughSlots as error:
                    # Another client was faster, or something that has no label holds the slots.
                    problem = error
                    self.cache.forget()
            self._say(queue_status(before, problem))
            time.sleep(POLL_S)

    def _before(self) -> list[Ticket]:
        line = waiting_tickets(self.ticket.renew_and_list(), self.located.inventory.cluster)
        place = next((n for n, found in enumerate(line) if found.token == self.ticket.token), len(line))
        return line[:place]

    def _problem(self, is_near: bool) -> HvdockerError | None:
        """Return why the slots do not suffice now, or None. Raises where a host is unreachable.

        Any other error, such as a worker that is just being replaced, counts as None: `launch` reports it
        under the locks if it persists."""
        try:
            self.place(self.cache.refresh(is_near))
        except NotEnoughSlots as error:
            return error
        except HvdockerError as error:
            if error.exit_code == ExitCode.UNREACHABLE:
                # If the unreachable host holds the queue, this raises with what happens to the ticket.
                self.ticket.renew_and_list()
                error.fix = "it has left the queue: run it again when the host is back"
                raise
            self.cache.forget()
        return None

    def _say(self, text: str) -> None:
        """Send the text as an event if it changed. An empty text ends the line."""
        if text != self._last:
            self._last = text
            self.env.listener(Event("queue", text, is_end=not text))


def queue_status(before: Sequence[Ticket], problem: HvdockerError | None) -> str:
    """Return the status line, for example:
    `3rd in the queue: 6 wanted, 4 free; 2 on b are held by mnist-4kq2 of kim`"""
    parts = [f"{ordinal(len(before) + 1)} in the queue"]
    if problem:
        parts.append("; ".join((problem.what, *_holders(problem))))
    if before:
        parts.append(f"after {_owners_text(before)}")
    return ": ".join(parts[:2]) + "".join(f"; {part}" for part in parts[2:])


def _holders(problem: HvdockerError) -> Iterable[str]:
    if "held by" in problem.what:
        return ()
    return [line for line in problem.lines if "held by" in line][:_MOST_NAMED]


def _owners_text(tickets: Sequence[Ticket]) -> str:
    shown = [ticket.description for ticket in tickets[:_MOST_NAMED]]
    more = len(tickets) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])
