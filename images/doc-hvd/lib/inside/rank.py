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
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from inside import paths
from inside.child import Child, Ended, StartError, kill_group, start
from inside.environment import rank_env, read_image_env
from inside.interfaces import interface_of
from inside.job import Job, JobError, read_job
from inside.markers import encode
from inside.outlink import hold_live, point_out_to
from inside.records import write_json
from inside.wakeups import Wakeups

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
        child = start(job.command, env, job.workdir, job.grace_s)
    except StartError as error:
        say(str(error))
        return report.ended(Ended(error.code, None, 0))
    guard_link.send(str(child.pid).encode())
    watch(child, wakeups, guard_link)
    return report.ended(child.reap())


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


def watch(child: Child, wakeups: Wakeups, guard_link: socket.socket) -> None:
    """Wait for the command to end; end it when asked to, or when the launcher or guard is gone."""
    poll = select.poll()
    poll.register(wakeups.fd, select.POLLIN)
    # No events asked for: only an error or a hang-up is told. It means that nobody reads any more.
    poll.register(sys.stdout.fileno(), 0)
    poll.register(guard_link.fileno(), 0)
    while not child.has_ended():
        for fd, _event in poll.poll(child.wait_ms()):
            if fd != wakeups.fd:
                poll.unregister(fd)
                child.end()
        for number in wakeups.take():
            if number in ENDING:
                child.end(number)
        child.tick()


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
