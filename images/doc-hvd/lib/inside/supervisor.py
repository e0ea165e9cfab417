"""The supervisor: the main process of a master container. It runs the launcher, passes its output
on, and writes the record of the job. It never talks to Docker."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from inside import paths
from inside.child import Child, StartError, start
from inside.environment import launcher_env, read_image_env
from inside.interfaces import interface_of
from inside.job import Job, JobError, read_job
from inside.markers import Filter, Mark
from inside.outlink import hold_live, point_out_to
from inside.records import write_json
from inside.secrets import forget_elsewhere, forget_secrets
from inside.wakeups import Wakeups

ASKS_TO_STOP = (signal.SIGTERM, signal.SIGINT)
# Ranks have their grace before they are killed; the launcher needs a moment more to say so.
LAUNCHER_EXTRA_S = 3.0
NO_LAUNCHER = "this image has no {}: build it on doc-hvd:cpu, or install Horovod in it"
LEFT = "the secrets of this job may still be in the worker on {}: the next train removes them"
EXIT_CODES = {"succeeded": 0, "failed": 1, "stopped": 128 + signal.SIGTERM}


def main(arguments: Sequence[str]) -> int:
    """`supervisor JOB`: run the job to its end; exit 0, 1 or 143."""
    if len(arguments) != 1:
        print("usage: supervisor JOB", file=sys.stderr)
        return 2
    try:
        job = read_job(arguments[0])
    except JobError as error:
        print(f"hvdocker: {error}", file=sys.stderr)
        return 1
    return Supervisor(job).run()


class Supervisor:
    """One run of one job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._ledger = Ledger()
        self._stops = 0
        self._started = time.time()
        self._wakeups = Wakeups((*ASKS_TO_STOP, signal.SIGCHLD))

    def run(self) -> int:
        """Run the job to its end; returns the exit code. Its secrets do not outlive it."""
        try:
            return self._run()
        finally:
            self._forget_secrets()

    def _run(self) -> int:
        """Run the launcher and write the record; returns the exit code."""
        _live = hold_live(self._job.name)
        point_out_to(self._job.name)
        try:
            child = self._start()
        except StartError as error:
            print(f"hvdocker: {error}", file=sys.stderr, flush=True)
            return self._finish(error.code)
        self._pump(child)
        return self._finish(child.reap().code)

    def _start(self) -> Child:
        env = launcher_env(read_image_env(), self._job.grace_s)
        if shutil.which(self._job.launcher[0], path=env.get("PATH")) is None:
            raise StartError(NO_LAUNCHER.format(self._job.launcher[0]), 127)
        command = launcher_command(self._job, head_interface(self._job))
        grace_s = self._job.grace_s + LAUNCHER_EXTRA_S
        return start(command, env, self._job.workdir, grace_s, subprocess.PIPE)

    def _pump(self, child: Child) -> None:
        """Pass output on until the launcher has ended and what it wrote is read."""
        poll = select.poll()
        poll.register(self._wakeups.fd, select.POLLIN)
        filters = {
            stream.fileno(): Filter(writer(out), self._ledger.add)
            for stream, out in ((child.process.stdout, 1), (child.process.stderr, 2))
            if stream is not None
        }
        for fd in filters:
            poll.register(fd, select.POLLIN)
        while not child.has_ended():
            self._turn(poll, filters, child, child.wait_ms())
        while filters and self._turn(poll, filters, child, 500):
            pass
        for left in filters.values():
            left.close()

    def _turn(self, poll: select.poll, filters: dict[int, Filter], child: Child, wait_ms: int | None) -> bool:
        """One round of waiting; whether anything came."""
        events = poll.poll(wait_ms)
        for fd, _event in events:
            if fd in filters:
                data = os.read(fd, 1 << 16)
                filters[fd].feed(data)
                if not data:
                    filters.pop(fd).close()
                    poll.unregister(fd)
        for number in self._wakeups.take():
            if number in ASKS_TO_STOP:
                self._ask_to_stop(child)
        child.tick()
        return bool(events)

    def _ask_to_stop(self, child: Child) -> None:
        """The first time with grace, the second time at once; too late once the launcher has ended."""
        if child.has_ended():
            return
        self._stops += 1
        if self._stops == 1:
            child.end()
        else:
            child.kill()

    def _finish(self, launcher_code: int) -> int:
        state = "stopped" if self._stops else "failed" if launcher_code else "succeeded"
        record = {
            "job": self._job.name,
            "cluster": self._job.cluster,
            "state": state,
            "code": EXIT_CODES[state],
            "launcher_code": launcher_code,
            "started": self._started,
            "finished": time.time(),
            "ranks": self._ledger.ranks(),
            "first_failure": self._ledger.first_failure(),
        }
        for path in (paths.RECORD, paths.logs_folder(self._job.name) / "record.json"):
            try:
                write_json(path, record)
            except OSError as error:
                print(f"hvdocker: cannot write {path}: {error}", file=sys.stderr, flush=True)
        return EXIT_CODES[state]

    def _forget_secrets(self) -> None:
        if not self._job.secrets:
            return
        forget_secrets(self._job.name)
        for host in forget_elsewhere(self._job.name, self._job.other_hosts):
            print(f"hvdocker: {LEFT.format(host)}", file=sys.stderr, flush=True)


class Ledger:
    """What the ranks have reported, in the order in which it came: their clocks may differ."""

    def __init__(self) -> None:
        self._ranks: dict[int, Mark] = {}
        self._exits: list[Mark] = []

    def add(self, mark: Mark) -> None:
        """Note one mark; a rank that starts again begins a new line."""
        event, rank = mark.pop("event", None), mark.get("rank")
        if not isinstance(rank, int):
            return
        if event == "rank-start":
            ended: dict[str, Any] = {"code": None, "signal": None, "seconds": None}  # Any: JSON
            self._ranks[rank] = {**mark, **ended, "max_rss_kb": None, "finished": None}
        elif event == "rank-exit":
            self._ranks[rank] = mark
            self._exits.append(mark)

    def ranks(self) -> list[Mark]:
        """The last word of every rank that started, by rank."""
        return [self._ranks[rank] for rank in sorted(self._ranks)]

    def first_failure(self) -> Mark | None:
        """The exit with a code that arrived first, if any."""
        return next((mark for mark in self._exits if mark.get("code")), None)


def head_interface(job: Job) -> str | None:
    """The interface with the head's training address; without one the launcher looks for itself."""
    try:
        return interface_of(job.head_address)
    except (OSError, ValueError):
        return None


def launcher_command(job: Job, interface: str | None) -> list[str]:
    """The launcher's words, with the rank wrapper in place of the person's command. On one host alone
    horovodrun insists on loopback for itself, and an interface named to it is an error."""
    chosen = ["--network-interfaces", interface] if interface and job.host_count > 1 else []
    return [*job.launcher, *chosen, str(paths.BIN / "rank"), job.name]


def writer(fd: int) -> Callable[[bytes], None]:
    """A function that writes everything to `fd` at once, past Python's buffers."""

    def write(data: bytes) -> None:
        while data:
            data = data[os.write(fd, data) :]

    return write
