"""The spawner of an elastic job. The supervisor writes the list of hosts. When hosts join or leave this list, the
spawner starts or ends programs on them."""

import time
from collections.abc import Mapping
from pathlib import Path

from hvdocker.protocol.job_file import JobHost
from inside.launchers.launcher import LauncherRun
from inside.launchers.spawned import Slot, SpawnedLauncher
from inside.runtime.loop import Loop
from inside.spawner.control import Message, end_ranks_command
from inside.spawner.elastic_hosts import ElasticHosts
from inside.spawner.spawner import Spawner

POLL_S = 0.5


class ElasticSpawner(Spawner):
    """Runs one program (torchrun) on each host that takes part. If a host is lost, the ranks on the other hosts that
    were started together with ranks of this host are ended. The programs on the other hosts then start their ranks
    again, without the lost host."""

    def __init__(self, launcher: SpawnedLauncher, run: LauncherRun, loop: Loop) -> None:
        super().__init__(launcher, run, loop)
        self._hosts = ElasticHosts(run.job, launcher.elastic_timeout_s(run.job))
        self._names = {host.address: host.name for host in (*run.job.hosts, *run.hosts)}
        self._look_at = 0.0
        self._listed = run.hosts
        # The hosts whose agent has started.
        self._ready: set[str] = set()

    def due(self) -> float | None:
        times = [super().due(), None if self._is_ending else self._look_at, self._hosts.due()]
        return min((planned for planned in times if planned is not None), default=None)

    def tick(self) -> None:
        super().tick()
        now = time.monotonic()
        if self._is_ending or now < min(self._look_at, self._hosts.due() or self._look_at):
            return
        self._look_at = now + POLL_S
        listed = read_discovered(self._run.layout.discovered, self._names)
        if listed:
            self._listed = listed
        self._follow(now)

    def _begin(self) -> None:
        self._follow(time.monotonic())

    @property
    def _is_ending(self) -> bool:
        return self._is_stopped or self._hosts.is_over

    @property
    def _code(self) -> int:
        return self._hosts.code or 0

    def _follow(self, now: float) -> None:
        """Start and end programs according to the list of hosts. While the connection to a host is being closed, no
        program is started on that host."""
        closing = {name for name, link in self._links.items() if link.was_asked}
        listed = [host for host in self._listed if host.name not in closing]
        started, ended = self._hosts.update(listed, file_version(self._run.layout.discovered), now)
        for host in started:
            if not self._connect(host):
                self._hosts.lose(host.name, now)
                continue
            # Only the static rendezvous needs the other hosts and the number of the host.
            run = LauncherRun(self._run.job, (host,), self._run.layout, None, False, self._run.restart)
            self._start(host.name, self._launcher.process(run, 0, Slot(host.name, 0, 0, 1)))
        for name in ended:
            self._links[name].stop()
        if ended:
            self._end_old_ranks()

    def _hear(self, host: str, event: Message) -> None:
        if event.get("event") == "ready":
            self._ready.add(host)
        elif event.get("event") == "ended":
            self._hosts.end(host, int(event["code"]), time.monotonic(), bool(event["had_ranks"]))

    def _lose(self, host: str) -> None:
        was_ready = host in self._ready
        self._ready.discard(host)
        if self._hosts.lose(host, time.monotonic()) and was_ready and not self._is_ending:
            self._say(f"the connection to {host} is lost")
            self._end_old_ranks()

    def _closed(self, host: str) -> None:
        self._ready.discard(host)
        self._hosts.note_closed(host)

    def _end_old_ranks(self) -> None:
        """End the ranks that were started when more hosts took part than now. Otherwise these ranks would wait for the
        lost hosts until their own timeout, which may be half an hour."""
        hosts = self._hosts.running
        for host in hosts:
            if link := self._links.get(host):
                link.send(end_ranks_command(len(hosts)))


def file_version(path: Path) -> int:
    """Return a number that changes when the file is replaced; 0 if there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return 0
    return hash((stat.st_ino, stat.st_ctime_ns))


def read_discovered(path: Path, names: Mapping[str, str]) -> tuple[JobHost, ...]:
    """Return the hosts in the file that the supervisor writes, one ADDRESS:SLOTS a line; empty if the file cannot be
    read. `names` maps addresses to the names of hosts. A host whose address is not in `names` gets its address as its
    name, because ssh accepts the address too."""
    try:
        lines = path.read_text(encoding="utf-8").split()
        pairs = [line.rpartition(":")[::2] for line in lines]
        return tuple(JobHost(names.get(address, address), address, int(slots)) for address, slots in pairs)
    except (OSError, ValueError):
        return ()
