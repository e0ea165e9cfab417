"""Holds a ticket of this client (an hvdocker process) on the queue host, and reads the tickets of others.

The queue host keeps the queue of clients that wait for slots. It is the first host in the order of machine-id and
address. All clients sort hosts in this way, so all choose the same queue host. A thread renews the ticket every ten
seconds. If the ticket was removed because this client did not renew it for a minute, the client creates it again at the
end of the queue. A ticket of a process of this machine that has ended is ignored at once, and so is such a lock."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError
from hvdocker.events import Event, EventListener, ignore_events
from hvdocker.locks.holder import Claim
from hvdocker.locks.process_id import has_process_ended
from hvdocker.locks.ticket import DEAD_S, QUEUE_DIR, WAITS, Ticket, TicketText
from hvdocker.locks.ticket_commands import (
    TicketAnswer,
    join_queue,
    leave_queue,
    list_tickets,
    read_tickets,
    renew_ticket,
)
from hvdocker.shell.command import Command
from hvdocker.transport.background import run_uninterrupted
from hvdocker.transport.link import HostLink
from hvdocker.transport.pool import HostOutcomes, for_each_host

BEAT_S = 10.0
TIMEOUT_S = 30.0
# The maximum length of each text in a ticket. `read_ticket` reads no more characters than that.
_MAX_TEXT = 100


@contextmanager
def hold_ticket(
    links: Mapping[str, HostLink],
    claim: Claim,
    kind: str = WAITS,
    wish: str = "",
    listener: EventListener = ignore_events,
    beat_s: float = BEAT_S,
) -> Iterator[HeldTicket]:
    """Hold a ticket on the queue host until the block ends or the ticket's `leave` is called.

    `claim` says who this client (hvdocker process) is. `kind` is WAITS (the client waits for slots) or RUNS (it is a
    `hvdocker run`). `wish` says what the client asks for, as text for other users (`4 slots`). `listener` gets a note
    if the ticket loses its place. The ticket is renewed every `beat_s` seconds. Raises HvdockerError if a host cannot
    be asked or the ticket cannot be created."""
    host = queue_host(links, {})
    found = HeldTicket(links[host], make_ticket_text(claim, kind, wish), listener)
    beats = threading.Thread(target=found.renew_until_left, args=(beat_s,), name="ticket", daemon=True)
    try:
        run_uninterrupted(found.join)
        beats.start()
        yield found
    finally:
        found.leave()


def make_ticket_text(claim: Claim, kind: str, wish: str) -> TicketText:
    """Return the content of a ticket of the client (hvdocker process) that `claim` describes.

    `kind` is WAITS (the client waits for slots) or RUNS (it is a `hvdocker run`). `wish` says what the client asks for,
    as text for other users (`4 slots`). Every text is cut to _MAX_TEXT characters, because `read_ticket` reads no
    more."""
    words = {name: str(value)[:_MAX_TEXT] for name, value in asdict(claim).items()}
    return TicketText(**words, kind=kind, wish=wish[:_MAX_TEXT])


class HeldTicket:
    """One ticket of this client (hvdocker process) on the host of `link`.

    `text` is the content of the ticket. `listener` gets a note if the ticket loses its place in the queue.
    `hold_ticket` calls `renew_until_left` in a background thread."""

    def __init__(self, link: HostLink, text: TicketText, listener: EventListener = ignore_events) -> None:
        self._link = link
        self._text = text
        self._listener = listener
        self._number = 0
        self._is_over = threading.Event()
        # Prevents a renewal from creating the ticket again while `leave` removes it.
        self._join_lock = threading.Lock()

    @property
    def token(self) -> str:
        return self._text.token

    @property
    def host(self) -> str:
        return self._link.name

    def join(self) -> None:
        """Create the ticket on the host, at the end of the queue.

        Raises HostUnfit if the queue folder cannot be used."""
        self._number = _run_or_raise(self._link, join_queue(self._text)).number

    def renew_and_list(self) -> tuple[Ticket, ...]:
        """Renew the ticket and return all living tickets of the host, this one included, in queue order.

        A ticket that was removed as dead is created again at the end of the queue. Raises HostUnreachable if the
        link to the host is lost."""
        try:
            return self._renewed()
        except HostUnreachable as error:
            raise HostUnreachable(
                f"the link to {self.host}, where the queue is kept, is lost: {error.what}",
                host=self.host,
                command=error.command,
                lines=error.lines,
                fix=f"the place is kept there for {DEAD_S} s, then it is given up: queue again",
            ) from error

    def _renewed(self) -> tuple[Ticket, ...]:
        number = self._number
        answer = _run_or_raise(self._link, renew_ticket(self.token, number))
        if answer.state == "gone" and self._join_again(number):
            answer = _run_or_raise(self._link, renew_ticket(self.token, self._number))
        return _drop_dead(self._link, answer)

    def _join_again(self, number: int) -> bool:
        with self._join_lock:
            if self._is_over.is_set():
                return False
            if self._number == number:
                self.join()
                text = "this machine was silent for a minute and lost its place: it is the last one now"
                self._listener(Event("note", text, self.host))
            return True

    def renew_until_left(self, beat_s: float) -> None:
        """Renew the ticket every `beat_s` seconds until `leave` is called.

        Errors are ignored: if the host is unreachable, the caller gets the error from its next
        `renew_and_list`."""
        while not self._is_over.wait(beat_s):
            with suppress(Exception):
                self._renewed()

    def leave(self) -> None:
        """Remove the ticket. Ctrl-C does not interrupt this. A second call does nothing.

        If the host is unreachable, the ticket stays there, and other clients regard it as dead after DEAD_S seconds."""
        if not self._is_over.is_set():
            self._is_over.set()
            run_uninterrupted(self._leave)

    def _leave(self) -> None:
        with self._join_lock:
            if not self._number:
                return
            try:
                _run_or_raise(self._link, leave_queue(self.token, self._number))
            except HvdockerError:
                text = f"the place in the queue could not be given back: it is free in {DEAD_S} s"
                self._listener(Event("note", text, self.host))


def queue_host(links: Mapping[str, HostLink], orders: Mapping[str, tuple[str, str]]) -> str:
    """Return the name of the queue host: the host whose sort key (machine-id, address) is lowest.

    `orders` has the sort keys that are already known, by host. The other hosts are asked for theirs. Raises
    HvdockerError if one of them does not answer."""
    missing = [name for name in links if name not in orders]
    asked = for_each_host(missing, lambda name: run_ticket_command(links[name], list_tickets(False)).sort_key)
    told = {**orders, **asked.or_raise("some hosts could not be asked for the queue")}
    return min(links, key=lambda name: (told[name], name))


def read_queue(
    links: Mapping[str, HostLink], orders: Mapping[str, tuple[str, str]], removes_dead_tickets: bool
) -> tuple[Ticket, ...]:
    """Return the living tickets of the queue host, for a client that has no ticket of its own.

    The queue host is the host with the lowest sort key (machine-id, address). `orders` has the sort keys that are
    already known, by host. If `removes_dead_tickets`, dead tickets are removed. Otherwise nothing is changed."""
    link = links[queue_host(links, orders)]
    return _drop_dead(link, _run_or_raise(link, list_tickets(removes_dead_tickets)), removes_dead_tickets)


def query_tickets(links: Mapping[str, HostLink]) -> HostOutcomes[tuple[Ticket, ...]]:
    """Return the living tickets of every host. Changes nothing.

    Hosts that cannot be asked are in `failed` of the result."""
    return for_each_host(
        links, lambda name: _drop_dead(links[name], _run_or_raise(links[name], list_tickets(False)), False)
    )


def _drop_dead(link: HostLink, answer: TicketAnswer, removes_dead_tickets: bool = True) -> tuple[Ticket, ...]:
    """Return the tickets in `answer`, without tickets of processes of this machine that have ended.

    If `removes_dead_tickets`, the tickets of ended processes are also removed from the host."""
    gone = [ticket for ticket in answer.tickets if has_process_ended(ticket.process)]
    for ticket in gone if removes_dead_tickets else ():
        _run_or_raise(link, leave_queue(ticket.token, ticket.number))
    return tuple(ticket for ticket in answer.tickets if ticket not in gone)


def _run_or_raise(link: HostLink, command: Command) -> TicketAnswer:
    """Run a ticket script and return its answer.

    Raises HostUnfit if the script did not run to its end, or if the queue folder is unusable or not
    writable."""
    answer = run_ticket_command(link, command)
    if answer.state == "unusable":
        raise HostUnfit(
            f"the queue cannot be kept: {QUEUE_DIR} is not as hvdocker makes it",
            host=link.name,
            lines=[answer.reason],
            fix=f"look what it is, then on the host: sudo rm -rf {QUEUE_DIR}",
        )
    if answer.state == "unwritable":
        folder = QUEUE_DIR.rpartition("/")[0]
        raise HostUnfit(
            f"the queue cannot be kept: nothing can be written in its {folder}",
            host=link.name,
            lines=[line for line in (answer.reason, answer.disk) if line],
            fix=f"free space there; what takes it, on the host: sudo du -xah {folder} | sort -h | tail",
        )
    return answer


def run_ticket_command(link: HostLink, command: Command) -> TicketAnswer:
    """Run a command of ticket_commands.py and return its answer. Raises HostUnfit if the script did not run to its
    end.

    A queue folder that cannot be used is no error here: the `state` of the answer says so."""
    result = link.run(command, timeout_s=TIMEOUT_S)
    answer = read_tickets(result.text)
    if answer is None:
        raise HostUnfit(
            "the host could not be asked for the queue: its shell did not run our script",
            host=link.name,
            lines=result.tail(),
            fix="a POSIX sh has to be on the PATH",
        )
    return answer
