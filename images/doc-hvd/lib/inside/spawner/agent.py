"""The agent: it runs on each host of a job, starts processes there for the spawner, and ends them all when the spawner
is gone."""

import os
import sys
import time
from collections.abc import Sequence

from hvdocker.protocol import variables
from hvdocker.protocol.job_file import Job, JobError
from inside.launchers.spawned import ProcessStart
from inside.rank.descendants import become_subreaper
from inside.rank.environment import launcher_env, read_image_env
from inside.rank.link_watch import LinkWatch
from inside.runtime.child import StartError
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.rank_channel import socket_folder
from inside.runtime.read_job import read_job
from inside.runtime.secrets import remove_secrets
from inside.spawner.agent_child import AgentChild
from inside.spawner.control import Message, encode_event, ended_event, parse_command, ready_event
from inside.spawner.line_collector import LineCollector
from inside.spawner.orphans import Orphans
from inside.spawner.rank_socket import RankSocket
from inside.spawner.streams import Outlet

# How long a slow reader may delay the end of an agent that has to hurry.
FLUSH_S = 2.0


def main(arguments: Sequence[str], layout: Layout | None = None) -> int:
    """Run `agent JOB`: serve the spawner until it asks the agent to end, or is gone. Return 0, or 2 if the arguments
    are wrong or job.json cannot be read."""
    if len(arguments) != 1:
        print("usage: agent JOB", file=sys.stderr)
        return 2
    layout = layout or Layout()
    try:
        job = read_job(arguments[0], layout.run)
    except JobError as error:
        print(f"hvdocker: {error}", file=sys.stderr)
        return 2
    become_subreaper()
    return Agent(job, layout, Loop()).run()


class Agent:
    """Starts and ends processes of the job on this host. The commands for this come from the spawner over stdin. The
    lines of these processes go to stdout and stderr, events (messages to the spawner) to stdout."""

    def __init__(self, job: Job, layout: Layout, loop: Loop) -> None:
        self._job = job
        self._layout = layout
        self._loop = loop
        self._out, self._err = Outlet(loop, 1, self._end), Outlet(loop, 2, self._end)
        self._children: dict[int, AgentChild] = {}
        self._socket: RankSocket | None = None
        self._commands = LineCollector()
        self._link_watch = LinkWatch(os.environ)
        self._orphans = Orphans(job.grace_s)
        self._is_ending = self._is_hurried = False
        # Whether the spawner or a signal asked for the end; if not, the spawner is gone.
        self._was_asked = False
        self._flush_by: float | None = None
        os.set_blocking(0, False)
        loop.watch(0, self._read)
        loop.add(self)

    def run(self) -> int:
        """Serve the spawner until the agent has to end and all processes have ended; return 0. If the spawner is gone
        and the job cannot restart, remove the job's secrets from this host, because no supervisor is left to remove
        them."""
        self._tell(ready_event())
        self._loop.run_until(self._is_done)
        if not self._was_asked and not self._job.resilience.goes_on:
            remove_secrets(self._job.name, self._layout.run)
        if self._socket:
            self._socket.close()
        return 0

    def due(self) -> float | None:
        times = [child.due() for child in self._children.values()]
        look_ms = self._link_watch.wait_ms()
        times += [None if look_ms is None else time.monotonic() + look_ms / 1000]
        times += [self._orphans.due(), self._flush_by if self._has_output else None]
        return min((planned for planned in times if planned is not None), default=None)

    def tick(self) -> None:
        """End all processes after a signal, or if the connection to the spawner is dead. Tell the spawner which
        processes have ended."""
        self._link_watch.tick()
        self._was_asked |= bool(self._loop.stop_requests)
        if self._loop.stop_requests or self._link_watch.is_dead:
            self._end()
        for key, child in tuple(self._children.items()):
            if child.tick() or (child.is_only_blocked and self._is_late()):
                how = child.finish()
                del self._children[key]
                had_ranks = self._socket is None or self._socket.had_ranks
                self._tell(ended_event(key, how.code, how.signal, had_ranks))
        if self._is_ending and not self._children and not self._orphans.are_gone:
            self._orphans.tick()

    def _is_done(self) -> bool:
        if not (self._is_ending and not self._children and self._orphans.are_gone):
            return False
        if self._link_watch.is_dead or not self._has_output:
            return True
        return self._is_late()

    @property
    def _has_output(self) -> bool:
        is_written = self._out.is_empty and self._err.is_empty
        return not is_written or (self._socket is not None and not self._socket.is_quiet)

    def _is_late(self) -> bool:
        """Return whether the agent may end although a slow reader has not read all of its output. That is the case if
        the end is hurried and the agent has waited long enough for the reader. The wait begins with the first call and
        lasts FLUSH_S. While ranks are connected to the socket, it lasts `grace_s` longer."""
        if not (self._is_ending and self._is_hurried):
            return False
        wait_s = FLUSH_S if self._socket is None or self._socket.is_quiet else FLUSH_S + self._job.grace_s
        self._flush_by = self._flush_by or time.monotonic() + wait_s
        return time.monotonic() >= self._flush_by

    def _read(self) -> None:
        try:
            data = os.read(0, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.unwatch(0)
            self._end()
        for line in self._commands.feed(data).splitlines():
            if message := parse_command(line):
                self._obey(message)

    def _obey(self, message: Message) -> None:
        match message.get("command"):
            case "stop":
                self._was_asked = True
                self._end(is_hurried=bool(message.get("hurry")))
            case _ if self._is_ending:
                pass
            case "start":
                self._start(ProcessStart(message["key"], message["argv"], message["env"], message["rank"]))
            case "listen":
                self._listen(str(message["name"]))
            case "end-ranks":
                if self._socket:
                    self._socket.end_ranks(int(message["nodes"]))

    def _start(self, wanted: ProcessStart) -> None:
        env = launcher_env(read_image_env(self._layout.image_env), self._job.grace_s)
        # The rank wrapper watches the connection that sshd names here.
        env.update({name: value for name, value in os.environ.items() if name.startswith("SSH_")})
        if self._socket:
            env[variables.OUTPUT_SOCKET] = str(self._socket.path)
        env.update(wanted.env)
        outlets = (self._out, self._err)
        try:
            child = AgentChild(self._loop, wanted, env, self._job.workdir, self._job.grace_s, outlets)
        except StartError as error:
            self._err.put(f"hvdocker: {error}\n".encode("utf-8", "backslashreplace"))
            self._tell(ended_event(wanted.key, error.code, None))
            return
        self._children[wanted.key] = child

    def _listen(self, name: str) -> None:
        try:
            path = socket_folder(self._layout.run) / name
            self._socket = RankSocket(self._loop, path, (self._out, self._err))
        except OSError as error:
            self._err.put(f"hvdocker: cannot listen for ranks: {error}\n".encode())
            self._end()

    def _end(self, is_hurried: bool = True) -> None:
        """End all processes, then the agent. With `is_hurried` the agent waits only a short time for a slow reader of
        its output; otherwise it waits without limit."""
        self._is_hurried = self._is_hurried or is_hurried
        if not self._is_ending:
            self._is_ending = True
            for child in self._children.values():
                child.stop()
            if self._socket:
                self._socket.end_ranks(-1)

    def _tell(self, event: Message) -> None:
        self._out.put(encode_event(event))
