"""The rank wrapper: what the launcher starts as each rank. It gives the command its environment,
records how it ends, and sees to it that no rank outlives its launcher.

It is two processes. The launcher ends a local rank by signalling the children of the process that
it started, and freezes that process: so the outer one only guards, and the inner one does the work.
If either is killed, the other still ends the command.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from inside import paths
from inside.child import Child, Ended, StartError, kill_group, start
from inside.environment import rank_env, read_image_env
from inside.interfaces import interface_of
from inside.job import Job, JobError, read_job
from inside.markers import encode
from inside.masking import Masker, words_of
from inside.outlink import hold_live, point_out_to
from inside.records import write_json
from inside.relay import Relay
from inside.secrets import SecretError, forget_secrets, read_secrets
from inside.wakeups import Wakeups

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
HUNG_UP = select.POLLERR | select.POLLHUP | select.POLLNVAL
# How long a stream is read on after its command has ended, while something else holds it open and is silent.
SILENCE_MS = 500


def main(arguments: Sequence[str]) -> int:
    """`rank JOB`: run this rank of the job and exit as its command does."""
    if len(arguments) != 1:
        print("usage: rank JOB", file=sys.stderr)
        return 2
    guard_end, inner_end = socket.socketpair()
    inner = os.fork()
    if inner == 0:
        guard_end.close()
        return run_rank(arguments[0], inner_end)
    inner_end.close()
    return guard(inner, guard_end)


def guard(inner: int, link: socket.socket) -> int:
    """Pass signals on to the inner process; if it is killed, end the command that it left behind."""
    for number in ENDING:
        signal.signal(number, lambda number, _frame: os.kill(inner, number))
    code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
    if code >= 0:
        return code
    command = link.recv(32)
    if command:
        kill_group(int(command), signal.SIGKILL)
    return 128 - code


def run_rank(name: str, guard_link: socket.socket) -> int:
    """The inner process: prepare, run, report."""
    wakeups = Wakeups((*ENDING, signal.SIGCHLD))
    try:
        job = read_job(name)
    except JobError as error:
        say(str(error))
        return 2
    # Held, not used: the lock lasts as long as this process.
    _live = hold_live(job.name)
    if not point_out_to(job.name) and os.environ.get("HOROVOD_LOCAL_RANK", "0") == "0":
        say("/out still belongs to another job on this host; write to $HVDOCKER_OUTPUT_DIR")
    report = Report(job, int(os.environ.get("HOROVOD_RANK", "0")))
    interface = find_interface(job)
    env = rank_env(job, read_image_env(), os.environ, interface)
    report.started()
    try:
        words = words_of(read_secrets(job.name, job.secrets))
        # Only where there is something to mask does output pass through here.
        child = start(job.command, env, job.workdir, job.grace_s, subprocess.PIPE if job.secrets else None)
    except SecretError as error:
        say(str(error))
        return report.ended(Ended(2, None, 0))
    except StartError as error:
        say(str(error))
        return report.ended(Ended(error.code, None, 0))
    guard_link.send(str(child.pid).encode())
    vigil = Vigil(wakeups, guard_link, masked(child, words))
    vigil.keep(child)
    how = child.reap()
    vigil.drain()
    if vigil.launcher_is_gone:
        # Nobody is left to start another rank of this job, or to clear up after it.
        forget_secrets(job.name)
    return report.ended(how)


def masked(child: Child, words: Sequence[bytes]) -> list[Relay]:
    """The way of its output to the launcher, where it has one through here."""
    process = child.process
    pairs = ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
    return [Relay(source.fileno(), target.fileno(), Masker(words)) for source, target in pairs if source]


def find_interface(job: Job) -> str | None:
    """The interface with this host's training address; without one the launcher's choice stays."""
    try:
        interface = interface_of(job.address)
    except (OSError, ValueError) as error:
        say(f"cannot look for the interface with {job.address}: {error}")
        return None
    if interface is None:
        say(f"no interface of {job.host} has the training address {job.address}")
    return interface


class Vigil:
    """Waits with the command for its end, and sees to its output."""

    def __init__(self, wakeups: Wakeups, guard_link: socket.socket, relays: Iterable[Relay]) -> None:
        self._wakeups = wakeups
        self._relays = tuple(relays)
        # Whom the command must not outlive. A hang-up means that nobody reads any more.
        self._links = {sys.stdout.fileno(), guard_link.fileno()}
        self.launcher_is_gone = False

    def keep(self, child: Child) -> None:
        """Until it has ended; end it when asked to, or when the launcher or guard is gone."""
        while not child.has_ended():
            _, lost = self._turn(child.wait_ms())
            if lost:
                child.end()
            for number in self._wakeups.take():
                if number in ENDING:
                    child.end(number)
            child.tick()

    def drain(self) -> None:
        """Pass on what the command wrote before it ended. What it left behind, in a session of its own, may
        hold its pipes for ever: then silence is the end."""
        while not all(relay.is_done for relay in self._relays):
            is_writing = any(relay.is_writing for relay in self._relays)
            came, lost = self._turn(None if is_writing else SILENCE_MS)
            if lost or any(number in ENDING for number in self._wakeups.take()):
                return
            if not came:
                for relay in self._relays:
                    relay.cut()

    def _turn(self, wait_ms: int | None) -> tuple[bool, bool]:
        """One round of waiting: whether anything came, and whether somebody is gone."""
        poll = select.poll()
        poll.register(self._wakeups.fd, select.POLLIN)
        for fd in self._links:
            # No events asked for: only an error or a hang-up is told.
            poll.register(fd, 0)
        waiting = {relay.interest()[0]: relay for relay in self._relays if not relay.is_done}
        for relay in waiting.values():
            poll.register(*relay.interest())
        events = poll.poll(wait_ms)
        for fd, _event in events:
            if fd in waiting:
                waiting[fd].turn()
        lost = {fd for fd, event in events if event & HUNG_UP} & self._links
        self._links -= lost
        self.launcher_is_gone |= sys.stdout.fileno() in lost
        return bool(events), bool(lost)


class Report:
    """Tells the supervisor, and the job's folder on this host, what became of the rank."""

    def __init__(self, job: Job, rank: int) -> None:
        self._job = job
        self._start = time.time()
        self._ticks = time.monotonic()
        self._who: dict[str, Any] = {"rank": rank, "host": job.host, "address": job.address}  # Any: JSON

    def started(self) -> None:
        """The command is about to start."""
        send(encode({"event": "rank-start", **self._who, "started": self._start}))

    def ended(self, how: Ended) -> int:
        """The command has ended; returns the code to exit with."""
        record = {
            **self._who,
            **how._asdict(),
            "seconds": round(time.monotonic() - self._ticks, 3),
            "started": self._start,
            "finished": time.time(),
        }
        # The mark first: the order in which marks arrive tells who failed first.
        send(encode({"event": "rank-exit", **record}))
        try:
            write_json(paths.logs_folder(self._job.name) / f"rank-{record['rank']}.json", record)
        except OSError as error:
            say(f"cannot write the record of rank {record['rank']}: {error}")
        return how.code


def say(message: str) -> None:
    """One line to the person."""
    send(f"hvdocker: {message}\n".encode("utf-8", "backslashreplace"))


def send(line: bytes) -> None:
    """Write to stderr in one piece; nobody may be there to read it."""
    with suppress(OSError):
        os.write(sys.stderr.fileno(), line)
