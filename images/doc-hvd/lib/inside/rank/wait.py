"""Waits for a rank's command to end. Meanwhile it handles the output of the command, signals and lost connections."""

import os
import select
import signal
import socket
import sys

from inside.rank.descendants import reap_orphans
from inside.rank.heartbeat import Heartbeat
from inside.rank.link_watch import LinkWatch
from inside.rank.relay import Relay
from inside.runtime.child import Child
from inside.runtime.signals import SignalPipe

END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
HUNG_UP = select.POLLERR | select.POLLHUP | select.POLLNVAL
# How long to read on after the command has ended while another process holds the stream open silently, and
# how much to read if it is not silent: the command's pipe cannot have held more.
DRAIN_SILENCE_MS = 50
MAX_DRAIN_BYTES = 1 << 20


class RankWait:
    """Waits for a rank's command. It ends the command on a signal (`wakeups` reports it), or if the launcher or the
    guard is gone. The guard is the outer process of the rank wrapper, connected by `guard_link`. `relays` forward the
    output of the command, `link_watch` notices a dead connection. `has_sent_end` says that the command was asked to
    end, `launcher_is_gone` that the launcher was lost."""

    def __init__(
        self, wakeups: SignalPipe, guard_link: socket.socket, relays: tuple[Relay, ...], link_watch: LinkWatch
    ) -> None:
        self._wakeups = wakeups
        self._relays = relays
        self._link_watch = link_watch
        # A hang-up on one of these means that the launcher or the guard is gone.
        self._links = {sys.stdout.fileno(), guard_link.fileno()}
        self.launcher_is_gone = False
        self.has_sent_end = False

    def wait_for_end(self, child: Child, beats: Heartbeat) -> None:
        """Wait until the command (`child`) has ended. Meanwhile forward its output, send heartbeats (`beats`), and ask
        the command to end after a signal or a lost connection."""
        while not child.has_ended():
            waits = [wait for wait in (child.wait_ms(), beats.wait_ms()) if wait is not None]
            _, lost = self._turn(min(waits))
            if lost:
                self._end(child, signal.SIGTERM)
            for number in self._wakeups.take():
                if number in END_SIGNALS:
                    self._end(child, number)
            reap_orphans(child.pid)
            child.tick()
            beats.tick()

    def drain(self) -> None:
        """Forward the output that the command wrote before it ended. A process that the command left in another
        session may hold the pipes open without end, so a short silence, or more than MAX_DRAIN_BYTES of further
        output, counts as the end of the stream."""
        most = {relay: relay.read_bytes + MAX_DRAIN_BYTES for relay in self._relays}
        while not all(relay.is_done for relay in self._relays):
            is_writing = any(relay.is_writing for relay in self._relays)
            came, lost = self._turn(None if is_writing else DRAIN_SILENCE_MS)
            if lost or any(number in END_SIGNALS for number in self._wakeups.take()):
                # An end was requested, or the reader is gone: write the rest only to the log.
                self._mute()
            for relay in self._relays:
                if not came or relay.read_bytes > most[relay]:
                    relay.stop_reading()

    def _end(self, child: Child, number: int) -> None:
        self.has_sent_end = True
        child.end(number)

    def _turn(self, wait_ms: int | None) -> tuple[bool, bool]:
        """Wait once for events, at most `wait_ms` milliseconds (None: no limit), and handle them. Return two values.
        The first is False if `wait_ms` passed without an event, else True. The second says whether the connection to
        the launcher or to the guard was lost. The wait may end before an event or `wait_ms`, because `link_watch` has
        to look at its connection; the first value is then True."""
        poll = select.poll()
        poll.register(self._wakeups.fd, select.POLLIN)
        for fd in self._links:
            # With no events requested, poll reports only errors and hang-ups.
            poll.register(fd, 0)
        waiting = {relay.interest()[0]: relay for relay in self._relays if not relay.is_done}
        for relay in waiting.values():
            poll.register(*relay.interest())
        look_ms = self._link_watch.wait_ms()
        is_short = look_ms is not None and (wait_ms is None or look_ms < wait_ms)
        events = poll.poll(look_ms if is_short else wait_ms)
        for fd, _event in events:
            if fd in waiting:
                waiting[fd].read_or_write()
        lost = {fd for fd, event in events if event & HUNG_UP} & self._links
        self._links -= lost
        if sys.stdout.fileno() in lost:
            self.launcher_is_gone = True
            self._mute()
        return is_short or bool(events), bool(lost) or self._mute_if_link_is_dead()

    def _mute_if_link_is_dead(self) -> bool:
        """Return whether the connection to the launcher was found dead in this call. If so, replace stdout and stderr
        by /dev/null: sshd may have stopped reading, and no later write may block."""
        self._link_watch.tick()
        if not self._link_watch.is_dead or self.launcher_is_gone:
            return False
        self.launcher_is_gone = True
        self._links.discard(sys.stdout.fileno())
        self._mute()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return True

    def _mute(self) -> None:
        for relay in self._relays:
            relay.mute()
