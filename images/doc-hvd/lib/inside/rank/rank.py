"""The rank wrapper, which the launcher starts as each rank. It gives the command its environment, forwards its output,
records how it ends, and makes sure that no rank outlives its launcher.

The wrapper is two processes. A launcher may end a rank on its own host by signalling the children of the process that
it started, and freeze (SIGSTOP) that process. So the outer process only guards, and the inner process does the work. If
either is killed, the other still ends the command."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hvdocker.protocol import paths, variables
from hvdocker.protocol.job_file import Job, JobError
from hvdocker.protocol.rank_log import log_name
from inside.launchers import launcher_of
from inside.rank.descendants import become_subreaper, end_children
from inside.rank.environment import RankPlace, rank_env, read_image_env
from inside.rank.heartbeat import Heartbeat, beat_interval_s
from inside.rank.link_watch import LinkWatch
from inside.rank.log import RankLog
from inside.rank.masking import Masker, words_to_mask
from inside.rank.oom import OomCounter
from inside.rank.out_link import hold_live, point_out_to
from inside.rank.relay import Relay
from inside.rank.report import Report, message_line, say_unbuffered
from inside.rank.usage import UsageMeter
from inside.rank.wait import END_SIGNALS, RankWait
from inside.runtime import rank_registry
from inside.runtime.child import Child, ChildExit, StartError, kill_group, start
from inside.runtime.interfaces import interface_of
from inside.runtime.rank_channel import replace_output
from inside.runtime.read_job import read_job
from inside.runtime.secrets import SecretError, read_secrets, remove_secrets
from inside.runtime.signals import SignalPipe

# Written to the rank's log, which would otherwise not show why the rank ended.
LINK_LOST = "the link to the head is gone: this rank was ended"
# Grace of processes that the rank started in other sessions, after its own end.
CHILDREN_GRACE_S = 1.0


def main(arguments: Sequence[str], run: Path = paths.RUN) -> int:
    """Run the program `rank JOB`: start the two processes of the wrapper, run this rank of the job, and return the
    exit code of its command. Wrong arguments return 2. `run` is the folder /run/hvdocker."""
    if len(arguments) != 1:
        print("usage: rank JOB", file=sys.stderr)
        return 2
    become_subreaper()
    guard_end, inner_end = socket.socketpair()
    inner = os.fork()
    if inner == 0:
        guard_end.close()
        return run_rank(arguments[0], inner_end, run)
    inner_end.close()
    code, orphan = guard(inner, guard_end)
    if orphan is not None:
        unregister_orphan(arguments[0], orphan, run)
    return code


def unregister_orphan(name: str, command: int, run: Path) -> None:
    """Remove this rank of the job `name` from the registry, in place of the inner process, which was killed. `command`
    is the process id of the rank's command. `run` is the folder /run/hvdocker."""
    with suppress(JobError):
        job = read_job(name, run)
        rank_registry.unregister_rank(name, launcher_of(job).identity(os.environ).rank, command, run)


def guard(inner: int, link: socket.socket) -> tuple[int, int | None]:
    """Do the work of the outer process: forward signals to the inner process (the child that runs the command; `inner`
    is its process id) until it ends. If the inner process is killed, end the command that it left behind. `link` is a
    socket over which the inner process has sent the process id of the command. Returns the exit code, and the process
    id of the command that was left behind (None if there was none)."""
    for number in END_SIGNALS:
        signal.signal(number, lambda number, _frame: os.kill(inner, number))
    # WNOWAIT keeps the inner process a zombie: its process id is not reused while signals are still forwarded.
    os.waitid(os.P_PID, inner, os.WEXITED | os.WNOWAIT)
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
    if code >= 0:
        return code, None
    command = link.recv(32)
    if not command:
        return 128 - code, None
    kill_group(int(command), signal.SIGKILL)
    end_children(0)
    return 128 - code, int(command)


def run_rank(name: str, guard_link: socket.socket, run: Path) -> int:
    """Do the work of the inner process (the child of the guard): read job.json of the job `name`, point /out to the
    job's outputs, and run the rank. Return the exit code: that of the rank, or 2 if job.json cannot be read or names an
    unknown launcher, or 1 if the output has to go to the spawner's agent but the agent cannot be reached. `guard_link`
    is the connection to the guard, the outer process. `run` is the folder /run/hvdocker."""
    become_subreaper()
    wakeups = SignalPipe((*END_SIGNALS, signal.SIGCHLD))
    try:
        job = read_job(name, run)
        launcher = launcher_of(job)
    except JobError as error:
        say_unbuffered(str(error))
        return 2
    identity = launcher.identity(os.environ)
    try:
        replace_output(os.environ, identity.rank)
    except OSError as error:
        say_unbuffered(f"cannot reach the agent of this host: {error}")
        return 1
    # Unused but kept open: the lock lasts as long as this process.
    _live = hold_live(job.name, run)
    if not point_out_to(job.name, run) and identity.local_rank == 0:
        say_unbuffered("/out still belongs to another job on this host; write to $HVDOCKER_OUTPUT_DIR")
    place = RankPlace(launcher, identity, find_interface(job))
    return Rank(job, place, run, wakeups, guard_link).run()


class Rank:
    """One rank of a job, from its start to its end. `place` says where it runs, and with which number. `run` is the
    folder /run/hvdocker, `wakeups` reports signals, `guard_link` is the connection to the guard (the outer process of
    the rank wrapper)."""

    def __init__(self, job: Job, place: RankPlace, run: Path, wakeups: SignalPipe, guard_link: socket.socket) -> None:
        self._job = job
        self._place = place
        self._run = run
        self._wakeups = wakeups
        self._guard_link = guard_link
        self._number = place.identity.rank
        self._report = Report(job, self._number, run)
        self._pid: int | None = None

    def run(self) -> int:
        """Start the command, wait for its end, report it, and return the exit code. If a secret cannot be read or the
        command does not start, tell the user the reason. Then the exit code of that error is reported and returned."""
        image = read_image_env(self._run / paths.IMAGE_ENV.name)
        env = rank_env(self._job, self._place, image, os.environ, self._run)
        self._report.started(self._place.interface)
        log = RankLog(paths.logs_folder(self._job.name, self._run) / log_name(self._number), say_unbuffered)
        log.begin(self._number, self._job.host, env[variables.RESTART], self._report.start)
        rank_registry.make_stacks_folder(self._job.name, self._number, self._run)
        try:
            return self._run_command(env, log)
        except (SecretError, StartError) as error:
            say_unbuffered(str(error))
            log.write(message_line(str(error)))
            return self._report.ended(ChildExit(error.code, None, 0))
        finally:
            rank_registry.unregister_rank(self._job.name, self._number, self._pid, self._run)

    def _run_command(self, env: Mapping[str, str], log: RankLog) -> int:
        words = words_to_mask(read_secrets(self._job.name, self._job.secrets, self._run))
        memory = OomCounter(self._run)
        command = self._place.launcher.rank_command(self._job, self._place.identity)
        child = start(command, env, self._job.workdir, self._job.grace_s, subprocess.PIPE)
        try:
            return self._wait_and_report(child, words, memory, log)
        except BaseException:
            # Whatever failed here, the command must not go on without a wrapper.
            child.kill()
            end_children(0)
            raise

    def _wait_and_report(self, child: Child, words: Sequence[bytes], memory: OomCounter, log: RankLog) -> int:
        self._guard_link.send(str(child.pid).encode())
        self._pid = child.pid
        entry = rank_registry.RankEntry(self._number, child.pid, self._job.host, os.getpid())
        rank_registry.register_rank(self._job.name, entry, self._run)
        out, err = relays_of(child, words, log)
        log.complain = lambda message: err.insert(message_line(message))
        every_s = beat_interval_s(self._job.resilience.hang_after_s)
        meter = UsageMeter(child.pid, self._place.launcher.busy_threads)
        rank_wait = RankWait(self._wakeups, self._guard_link, (out, err), LinkWatch(os.environ))
        rank_wait.wait_for_end(child, Heartbeat(self._report.who, meter, (err, out), every_s))
        how = child.reap()
        for_memory = not rank_wait.has_sent_end and memory.ended(how)
        rank_wait.drain()
        if rank_wait.launcher_is_gone:
            log.write(message_line(LINK_LOST))
        log.close()
        if rank_wait.launcher_is_gone and not self._job.resilience.goes_on:
            # The job cannot restart, and no supervisor is left that would remove its secrets from this host.
            remove_secrets(self._job.name, self._run)
        code = self._report.ended(how, for_memory, rank_wait.has_sent_end)
        # Last, because the rank whose exit arrives first counts as the one that failed first.
        end_children(CHILDREN_GRACE_S)
        return code


def relays_of(child: Child, words: Sequence[bytes], log: RankLog) -> tuple[Relay, Relay]:
    """Return the relays that forward the stdout and the stderr of `child`, the command, to the launcher and to the log,
    with the secrets in `words` masked. The relay of stdout comes first, so stdout is forwarded first if both have data
    at the same time: the last message of a failing command is more likely on stderr."""
    out, err = child.process.stdout, child.process.stderr
    assert out is not None and err is not None
    return (
        Relay(out.fileno(), sys.stdout.fileno(), Masker(words), log.write),
        Relay(err.fileno(), sys.stderr.fileno(), Masker(words), log.write),
    )


def find_interface(job: Job) -> str | None:
    """Return the network interface that has this host's training address. If there is none or it cannot be looked up,
    tell the user and return None; the launcher or the framework then chooses the interface."""
    try:
        interface = interface_of(job.address)
    except (OSError, ValueError) as error:
        say_unbuffered(f"cannot look for the interface with {job.address}: {error}")
        return None
    if interface is None:
        say_unbuffered(f"no interface of {job.host} has the training address {job.address}")
    return interface
