"""The spawner: a child of the supervisor that starts the ranks of a job on all hosts, merges their output, and ends
when they have ended."""

import os
import shlex
import sys
import time
from collections.abc import Sequence
from functools import partial

from hvdocker.protocol import variables
from hvdocker.protocol.job_file import JobError, JobHost
from inside.launchers import launcher_of
from inside.launchers.launcher import LauncherRun
from inside.launchers.spawned import RANK_FAILED, ProcessStart, SpawnedLauncher, parse_host_word
from inside.rank.descendants import become_subreaper
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.read_job import read_job
from inside.spawner.agent_link import AgentLink
from inside.spawner.control import Message, listen_command, start_command
from inside.spawner.orphans import Orphans
from inside.spawner.schedule import HOST_LOST, Schedule
from inside.spawner.streams import Outlet

STOPPED = 143
# How long a slow reader may delay the end of a spawner that was asked to stop.
FLUSH_S = 2.0


def main(arguments: Sequence[str], layout: Layout | None = None) -> int:
    """Run `spawn JOB HOST...`: run all processes of the job. Each HOST is a word NAME=ADDRESS=SLOTS, the head first.
    Return 0 if all processes succeed, else the exit code of the first that failed, or 143 if a stop was requested. For
    an elastic job, `ElasticHosts` decides the code. Return 2 if the arguments are wrong, or job.json cannot be read or
    names an unknown launcher."""
    if len(arguments) < 2:
        print("usage: spawn JOB NAME=ADDRESS=SLOTS...", file=sys.stderr)
        return 2
    layout = layout or Layout()
    try:
        job = read_job(arguments[0], layout.run)
        hosts = tuple(parse_host_word(word) for word in arguments[1:])
        launcher = launcher_of(job)
    except (JobError, ValueError) as error:
        print(f"hvdocker: {error}", file=sys.stderr)
        return 2
    assert isinstance(launcher, SpawnedLauncher)
    run = LauncherRun(job, hosts, layout, None, len(hosts) == 1, int(os.environ.get(variables.RESTART, "0")))
    become_subreaper()
    if launcher.restarts_ranks:
        from inside.spawner.elastic import ElasticSpawner

        return ElasticSpawner(launcher, run, Loop()).run()
    return FixedSpawner(launcher, run, Loop()).run()


class Spawner:
    """Runs all processes of one run of the launcher. It starts an agent on every host, the head included, and the
    agents start the processes. Two subclasses decide which processes start, and when the run is over: FixedSpawner for
    fixed hosts, ElasticSpawner for elastic jobs.

    `launcher` says what the processes are. `run` has the job and its hosts. `loop` is the event loop; it also counts
    stop requests, and the first one stops the run."""

    def __init__(self, launcher: SpawnedLauncher, run: LauncherRun, loop: Loop) -> None:
        self._launcher = launcher
        self._run = run
        self._loop = loop
        self._outlets = (Outlet(loop, 1, self._stop), Outlet(loop, 2, self._stop))
        self._links: dict[str, AgentLink] = {}
        self._orphans = Orphans(run.job.grace_s)
        self._is_stopped = False
        self._flush_by: float | None = None

    def run(self) -> int:
        """Run until all processes have ended; return the exit code."""
        self._begin()
        self._loop.add(self)
        self._loop.run_until(self._is_done)
        return STOPPED if self._is_stopped else self._code

    def due(self) -> float | None:
        times = [self._flush_by, self._orphans.due(), *(link.due() for link in self._links.values())]
        return min((planned for planned in times if planned is not None), default=None)

    def tick(self) -> None:
        """Stop the run if a stop was requested. Handle connections that have closed. When all processes have ended or
        have to end, stop the agents, and then end orphans."""
        if self._loop.stop_requests:
            self._stop()
        for host, link in tuple(self._links.items()):
            link.tick()
            if link.is_closed:
                del self._links[host]
                if link.was_asked:
                    self._closed(host)
                else:
                    self._lose(host)
        if self._is_ending:
            for link in self._links.values():
                link.stop(self._is_stopped)
            if not self._links and not self._orphans.are_gone:
                self._orphans.tick()

    def _begin(self) -> None:
        raise NotImplementedError

    @property
    def _is_ending(self) -> bool:
        """Whether all processes have ended or have to end now."""
        raise NotImplementedError

    @property
    def _code(self) -> int:
        raise NotImplementedError

    def _hear(self, host: str, event: Message) -> None:
        """Handle an event (a message) of the agent on `host`."""
        raise NotImplementedError

    def _lose(self, host: str) -> None:
        """Handle the loss of a host: its connection has closed, and the spawner did not end it."""
        raise NotImplementedError

    def _closed(self, host: str) -> None:
        """Handle the end of a connection that the spawner itself has ended."""

    def _is_done(self) -> bool:
        if not self._is_ending or self._links or not self._orphans.are_gone:
            return False
        if self._is_stopped:
            self._flush_by = self._flush_by or time.monotonic() + FLUSH_S
        is_late = self._flush_by is not None and time.monotonic() >= self._flush_by
        return is_late or all(outlet.is_empty for outlet in self._outlets)

    def _connect(self, host: JobHost) -> bool:
        """Start the agent on `host` and keep the connection to it. Return False if the command that starts the agent
        cannot be executed."""
        layout, job = self._run.layout, self._run.job
        words = [str(layout.bin / "agent"), job.name]
        # With `exec` no shell stays beside the agent.
        command = words if host.name == job.host else layout.ssh(host.name, f"exec {shlex.join(words)}")
        hear = partial(self._hear, host.name)
        try:
            link = AgentLink(self._loop, command, os.environ, self._outlets, hear, job.grace_s)
        except OSError as error:
            self._say(f"cannot start {command[0]}: {error}")
            return False
        self._links[host.name] = link
        if self._launcher.listens:
            link.send(listen_command(f"{job.name}-{self._run.restart}"))
        return True

    def _start(self, host: str, process: ProcessStart) -> None:
        env = {variables.RESTART: str(self._run.restart), **process.env}
        if link := self._links.get(host):
            link.send({**start_command(process), "env": env})

    def _stop(self) -> None:
        self._is_stopped = True

    def _say(self, message: str) -> None:
        self._outlets[1].put(f"hvdocker: {message}\n".encode("utf-8", "backslashreplace"))


class FixedSpawner(Spawner):
    """Runs the processes of a job that is not elastic: its hosts stay the same during the run."""

    def __init__(self, launcher: SpawnedLauncher, run: LauncherRun, loop: Loop) -> None:
        super().__init__(launcher, run, loop)
        hosts, count = launcher.process_hosts(run), launcher.process_count(run)
        self._schedule = Schedule(hosts, count, launcher.ends_all(run.job))

    def _begin(self) -> None:
        for host in self._run.hosts:
            if not self._connect(host):
                self._schedule.lose(host.name)
        self._start_ready()

    @property
    def _is_ending(self) -> bool:
        return self._is_stopped or self._schedule.must_end or self._schedule.is_over

    @property
    def _code(self) -> int:
        return self._schedule.code

    def _start_ready(self) -> None:
        for key, slot in [] if self._is_stopped else self._schedule.assign_free_slots():
            self._start(slot.host, self._launcher.process(self._run, key, slot))

    def _hear(self, host: str, event: Message) -> None:
        """Handle an event (a message) of the agent on `host`. If a signal ended a rank, print a line that names this
        rank to the supervisor, because the rank perhaps could not report its own end. After a failure that ends the
        whole run no rank is named, because then the agents end the ranks."""
        if event.get("event") != "ended":
            return
        key, code = int(event["key"]), int(event["code"])
        if event.get("signal") and not self._schedule.must_end:
            self._name_failed(key, code)
        self._schedule.end(key, code)
        self._start_ready()

    def _lose(self, host: str) -> None:
        """Handle the loss of a host: the processes on it have failed."""
        was_ending, has_failed = self._is_ending, self._schedule.first is not None
        lost = self._schedule.lose(host)
        if not was_ending:
            self._say(f"the connection to {host} is lost")
        if not has_failed and lost and not self._is_stopped:
            self._name_failed(lost[0], HOST_LOST)
        self._start_ready()

    def _name_failed(self, key: int, code: int) -> None:
        if not self._launcher.listens:
            self._outlets[1].put(RANK_FAILED.format(key, code).encode() + b"\n")
