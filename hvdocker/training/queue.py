"""Waits for slots in a queue, strictly first come, first served (`train --queue`).

There is no server: each waiting `train` command (client) has a ticket, a file on one host of the cluster. All clients
choose the same host for it, by a sort order. The numbers of the tickets are the order of the queue: they are given
out by locks/ticket_commands.py, and sorted by `waiting_tickets` in locks/ticket.py.

Every POLL_S seconds a client renews its ticket and lists the others. The client that is first checks without locks
whether enough slots are free. If so, it takes the locks and launches its job. If another command took the slots in the
meantime, the client keeps waiting. When the master runs, the client removes its ticket, and then releases the locks:
from then on the master's label holds the slots.

A `train` without `--queue` is refused while tickets wait, even if its slots are free, so that small requests
do not starve a large one. Inventories that give one cluster different names have separate queues."""

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
# Seconds between two observations of labels by a client that is not first. It only reports what it waits for.
_LABELS_REFRESH_S = 10.0
# Seconds between two full observations. Labels show only slots that jobs hold. Processes outside of hvdocker that
# use GPUs are found only by a full observation.
_FULL_REFRESH_S = 30.0
_MOST_NAMED = 3


def check_flags(is_queued: bool, is_detached: bool, is_dry_run: bool) -> None:
    """Raise UsageProblem if `--queue` is combined with `-d` or `--dry-run`."""
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
    """Return the requested slots as text for the ticket: the value of `-H` (`hosts`) if given, else a text such as `4
    slots` for `-np` (`np`), or `all slots` if neither is given."""
    return hosts or (pluralize(np, "slot") if np else "all slots")


def observe_with_queue(
    located: Located, session: Session, held: HeldLocks | None, has_turn: bool, may_miss: bool = False
) -> tuple[ClusterState, list[Ticket]]:
    """Return the state of the hosts and the tickets of commands that wait for slots of this cluster.

    `has_turn` means that this command need not wait for others in the queue: then no ticket is read, and the list is
    empty. `held` are the locks that this command holds, None if it holds none. With locks, it also removes tickets of
    dead commands.

    Raises HvdockerError if hosts cannot be used. There are two exceptions: such hosts are ignored if the other hosts
    have all slots of the request that the cluster was created for (`up -np 6`), or with `may_miss` if at least one
    host was observed."""
    from hvdocker.locks.held_ticket import read_queue

    inventory, links = located.inventory, session.links
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = None
        if not has_turn:
            asked = pool.submit(read_queue, links, held.sort_keys if held else {}, held is not None)
        state = observe_cluster(located, session, may_miss=may_miss)
    return state, waiting_tickets(asked.result(), inventory.cluster) if asked else []


def place_unless_others_wait(place: ChoosePlacement, state: ClusterState, waiting: Sequence[Ticket]) -> Placement:
    """Return the placement that `place` chooses. `waiting` are the tickets of the commands that wait in the queue. It
    is empty if this command need not respect the queue.

    Raises NotEnoughSlots if the slots are not free. Also raises it if `waiting` is not empty, even if the slots are
    free."""
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
    """Return the state as it would be if no job of this cluster ran, there were no other cluster, and no other process
    used a GPU.

    A request that does not fit even in this state would wait in the queue forever, so it is refused."""
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
    """Wait until this command is first in the queue and its slots are free, then call `launch` and return its result.

    `place` chooses a placement; it raises NotEnoughSlots if too few slots are free. `launch` takes the locks,
    chooses the placement again and removes the ticket. `wish` is the request as text for other users, such as `4
    slots`. Raises Interrupted on Ctrl-C. Raises NotEnoughSlots at once if the request would not fit even on idle
    hosts."""
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
    """Keeps the last observed state of the hosts, and observes them again when it is too old. `state` is None before
    the first observation and after `forget`; the next `refresh` then observes the hosts fully.

    `_looked` is the time of the last observation of container labels, `_looked_whole` that of the last full
    observation. Both are times of the monotonic clock."""

    located: Located
    session: Session
    state: ClusterState | None = None
    _looked: float = 0.0
    _looked_whole: float = 0.0

    def refresh(self, is_near: bool) -> ClusterState:
        """Return the state of the hosts. Observe them fully if the last full observation is older than _FULL_REFRESH_S.
        Otherwise read only the labels of containers, if these are older than _LABELS_REFRESH_S.

        With `is_near` (this command is first in the queue) the labels are read every time."""
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
        """Return a full observation of the hosts, without the GPUs of hosts whose GPU driver failed before.

        If a driver hangs, every call of nvidia-smi leaves a process on the host. So nvidia-smi is not called again
        there."""
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
        """Return the error that says why too few slots are free now, None if enough are free. `is_near` means that this
        command is first in the queue.

        Raises HostUnreachable, or HostErrors, if hosts are unreachable. Any other error, such as a worker that is
        just being replaced, is ignored here and None is returned: `launch` raises the error again if it persists."""
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
        """Send the status line `text` as an event if it has changed. An empty text ends the status line."""
        if text != self._last:
            self._last = text
            self.env.listener(Event("queue", text, is_end=not text))


def queue_status(before: Sequence[Ticket], problem: HvdockerError | None) -> str:
    """Return the status line of a waiting command, for example `3rd in the queue: 6 wanted, 4 free; 2 on b are held by
    mnist-4kq2 of kim`.

    `before` are the tickets ahead of this command. `problem` says why too few slots are free, None if enough are."""
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
