"""Waits with a rank's command for its end, and sees to its output."""

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

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
HUNG_UP = select.POLLERR | select.POLLHUP | select.POLLNVAL
# How long a stream is read on after its command has ended, while something else holds it open and is silent,
# and how much is read from one that is not: no pipe of a command can have held more.
SILENCE_MS = 50
MOST_LEFT = 1 << 20


class RankWait:
    """Ends the command when asked to, or when those are gone whom it must not outlive."""

    def __init__(
        self, wakeups: SignalPipe, guard_link: socket.socket, relays: tuple[Relay, ...], uplink: LinkWatch
    ) -> None:
        self._wakeups = wakeups
        self._relays = relays
        self._uplink = uplink
        # A hang-up means that nobody reads any more.
        self._links = {sys.stdout.fileno(), guard_link.fileno()}
        self.launcher_is_gone = False
        self.has_asked = False

    def keep(self, child: Child, beats: Heartbeat) -> None:
        """Until the command has ended."""
        while not child.has_ended():
            waits = [wait for wait in (child.wait_ms(), beats.wait_ms()) if wait is not None]
            _, lost = self._turn(min(waits))
            if lost:
                self._end(child, signal.SIGTERM)
            for number in self._wakeups.take():
                if number in ENDING:
                    self._end(child, number)
            reap_orphans(child.pid)
            child.tick()
            beats.tick()

    def drain(self) -> None:
        """Pass on what the command wrote before it ended. What it left behind, in a session of its own, may
        hold its pipes for ever: then silence is the end."""
        most = {relay: relay.read_bytes + MOST_LEFT for relay in self._relays}
        while not all(relay.is_done for relay in self._relays):
            is_writing = any(relay.is_writing for relay in self._relays)
            came, lost = self._turn(None if is_writing else SILENCE_MS)
            if lost or any(number in ENDING for number in self._wakeups.take()):
                # Whoever reads is in a hurry, or gone: the rest is only kept.
                self._mute()
            for relay in self._relays:
                if not came or relay.read_bytes > most[relay]:
                    relay.cut()

    def _end(self, child: Child, number: int) -> None:
        self.has_asked = True
        child.end(number)

    def _turn(self, wait_ms: int | None) -> tuple[bool, bool]:
        """One round of waiting: whether it ended before its time, and whether somebody is gone."""
        poll = select.poll()
        poll.register(self._wakeups.fd, select.POLLIN)
        for fd in self._links:
            # No events asked for: only an error or a hang-up is told.
            poll.register(fd, 0)
        waiting = {relay.interest()[0]: relay for relay in self._relays if not relay.is_done}
        for relay in waiting.values():
            poll.register(*relay.interest())
        look_ms = self._uplink.wait_ms()
        is_short = look_ms is not None and (wait_ms is None or look_ms < wait_ms)
        events = poll.poll(look_ms if is_short else wait_ms)
        for fd, _event in events:
            if fd in waiting:
                waiting[fd].turn()
        lost = {fd for fd, event in events if event & HUNG_UP} & self._links
        self._links -= lost
        if sys.stdout.fileno() in lost:
            self.launcher_is_gone = True
            self._mute()
        return is_short or bool(events), bool(lost) or self._is_unheard()

    def _is_unheard(self) -> bool:
        """Whether it was found out just now that the launcher's host hears nothing. sshd may have stopped
        reading by then, and nothing here may wait for it."""
        self._uplink.tick()
        if not self._uplink.is_dead or self.launcher_is_gone:
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
