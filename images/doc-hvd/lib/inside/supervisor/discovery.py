"""The list of hosts that an elastic job may use. It is made from the hosts in job.json, or from those in hosts.json
once `up` has written that file. Two kinds of hosts are left out: hosts that were dropped (`Discovery.drop`), and hosts
whose worker does not respond. Some launchers read the list as a file; others run `bin/discover`, which prints it."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hvdocker.protocol.hosts_file import parse_hosts
from hvdocker.protocol.job_file import Job, JobHost
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.say import say
from inside.supervisor.logins import Logins
from inside.supervisor.restarts import shortage_sentence, total_slots

POLL_S = 1.0
# How long the first run waits for hosts that are slow to respond.
FIRST_HOSTS_WAIT_S = 6.0


class Discovery:
    """Keeps the list of hosts of an elastic job up to date. The event loop asks `due` when to wake up, and then calls
    `tick`. `on_host_left` is called with the name of every host that leaves the list. `timeout_s` is how long the
    launcher waits for missing slots. `is_short` says that the job has fewer slots than it needs to go on."""

    def __init__(
        self, loop: Loop, layout: Layout, job: Job, on_host_left: Callable[[str], None], timeout_s: float
    ) -> None:
        self._loop = loop
        self._layout = layout
        self._job = job
        self._file = HostsFile(layout.hosts_file)
        self._dropped: set[str] = set()
        self._known: set[str] = set()
        self._job_hosts = job.hosts
        self._is_gathered = False
        self._is_closed = False
        self._written = ""
        self._is_troubled = False
        self._due = time.monotonic()
        self._on_host_left = on_host_left
        self._timeout_s = timeout_s
        self._were_here: set[str] = set()
        # Whether the job has fewer slots than it needs to go on.
        self.is_short = False
        self._sessions = Logins(loop, layout, self._changed)

    def gather(self) -> None:
        """Log in to the hosts and wait for them before the first run. The wait ends when every host of the job has
        answered, after FIRST_HOSTS_WAIT_S, or when a stop is requested. The user is told which hosts did not answer;
        the job begins without them."""
        self._loop.add(self)
        self.tick()
        self._changed()
        deadline = time.monotonic() + FIRST_HOSTS_WAIT_S
        self._loop.run_until(lambda: self._loop.stop_requests > 0 or not self._absent(), deadline)
        self._is_gathered = True
        for host in [] if self._loop.stop_requests else self._absent():
            say(f"{host} does not answer: the job begins without it")
        if not self._loop.stop_requests:
            self._tell_shortage()

    def job_hosts(self) -> tuple[JobHost, ...]:
        """Return the hosts that can take part now: the head and all hosts with a working login. The head
        comes first, because rank 0 is placed on the first host."""
        head = self._job.host
        inside = self._sessions.logged_in()
        others = [job_host for job_host in self._job_hosts if job_host.name != head and job_host.name in inside]
        return (*(job_host for job_host in self._job.hosts if job_host.name == head), *others)

    def names(self) -> list[str]:
        """Return the names of all known hosts except the head, dropped ones included."""
        return [job_host.name for job_host in self._job_hosts if job_host.name != self._job.host]

    def drop(self, host: str) -> None:
        """Leave a host out for the rest of the job, because a log rule matched or its ranks keep failing. The login to
        the host is closed."""
        self._dropped.add(host)
        self._keep_sessions()
        self._changed()

    def due(self) -> float | None:
        return self._due

    def tick(self) -> None:
        """Read hosts.json if `up` has changed it. Write the list of hosts again if hosts have joined or left since it
        was written. Do nothing if the last call was less than POLL_S ago."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + POLL_S
        job_hosts = self._file.read_if_new()
        if job_hosts is not None:
            self._job_hosts = job_hosts
        self._keep_sessions()
        if job_hosts is not None or discovered_text(self.job_hosts()) != self._written:
            self._changed()

    def close(self) -> None:
        """End the logins and leave the loop, because the job is over. `on_host_left` is not called for these hosts."""
        self._is_closed = True
        self._loop.remove(self)
        self._sessions.close()

    def _keep_sessions(self) -> None:
        self._sessions.keep(name for name in self.names() if name not in self._dropped)

    def _absent(self) -> list[str]:
        inside = self._sessions.logged_in()
        return [name for name in self.names() if name not in inside and name not in self._dropped]

    def _changed(self) -> None:
        """Write the list of hosts again after a host joined or left. Tell the user about it, and call `on_host_left`
        for each host that left."""
        if self._is_closed:
            return
        job_hosts = self.job_hosts()
        names = {job_host.name for job_host in job_hosts} - {self._job.host}
        came, gone = sorted(names - self._known), sorted(self._known - names)
        self._known = names
        text = discovered_text(job_hosts)
        if text != self._written:
            self._write(text)
        for host in gone:
            self._on_host_left(host)
            if host not in self._dropped:
                say(f"{host} left the job")
        for host in came if self._is_gathered else ():
            say(f"{host} is back and takes part" if host in self._were_here else f"{host} takes part")
        self._were_here |= names
        if self._is_gathered:
            self._tell_shortage()

    def _tell_shortage(self) -> None:
        """Tell the user when the job has too few slots to go on, and when it has enough again. The launcher
        waits for slots without a message and then gives up."""
        least = self._job.resilience.elastic.min_np if self._job.resilience.elastic else 0
        slots = total_slots(self.job_hosts())
        if (slots < least) == self.is_short:
            return
        self.is_short = slots < least
        if self.is_short:
            say(shortage_sentence(slots, least, self._timeout_s))
        else:
            say(f"{slots} slot(s), at least {least} needed: there are enough again")

    def _write(self, text: str) -> None:
        fresh = self._layout.discovered.with_name(f".discovered.{os.getpid()}")
        try:
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self._layout.discovered)
            self._written, self._is_troubled = text, False
        except OSError as error:
            if not self._is_troubled:
                say(f"cannot write {self._layout.discovered}: {error}")
            self._is_troubled = True


class HostsFile:
    """The file hosts.json (at `path`), which `up` writes for a running elastic job. It is read again only after it has
    changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._look: tuple[int, int, int] | None = None
        self._is_troubled = False

    def read_if_new(self) -> tuple[JobHost, ...] | None:
        """Return the hosts in the file. Return None if the file is missing, unchanged since the last call, unreadable
        or malformed. The last two are reported to the user."""
        try:
            stat = self._path.stat()
            look = (stat.st_ino, stat.st_ctime_ns, stat.st_size)
            if look == self._look:
                return None
            self._look = look
            text = self._path.read_text(encoding="utf-8")
            self._is_troubled = False
            return parse_hosts(text)
        except FileNotFoundError:
            return None
        except OSError as error:
            # The next call tries again.
            self._look = None
            if not self._is_troubled:
                say(f"cannot read {self._path}: {error!r}")
            self._is_troubled = True
            return None
        except (ValueError, KeyError, TypeError) as error:
            say(f"cannot read {self._path}: {error!r}")
            return None


def discovered_text(job_hosts: Sequence[JobHost]) -> str:
    """Return the text that the discovery script (`bin/discover`) prints: one line ADDRESS:SLOTS for each of
    `job_hosts`."""
    return "".join(f"{job_host.address}:{job_host.slots}\n" for job_host in job_hosts)
