"""One run of the launcher, and everything that reads its output: rank states, log
rules, hang watch."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hvdocker.protocol import paths
from hvdocker.protocol.job_file import Job
from hvdocker.protocol.marks import Mark
from hvdocker.protocol.rank_messages import RANK_BEAT, RANK_EXIT, RANK_START
from hvdocker.protocol.record import Hang
from inside.hang import bundle
from inside.hang.watch import HangSettings, HangWatch
from inside.launchers.host_prefix import HostPrefix
from inside.launchers.launcher import Launcher, LauncherRun
from inside.rank.environment import launcher_env, read_image_env
from inside.runtime.child import StartError, start
from inside.runtime.interfaces import interface_of
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.say import say
from inside.supervisor.launcher_output import LauncherOutput
from inside.supervisor.log_rules import RuleMatcher
from inside.supervisor.record import Record

# Ranks get the job's grace before they are killed; the launcher needs a little longer to report that.
LAUNCHER_EXTRA_GRACE_S = 3.0
PYTHON = "python"
# Frameworks may put the rank before it.
TRACEBACK_START = re.compile(r"(?:\[rank\d+\]: )?Traceback \(most recent call last\):")
NO_PROGRAM = "this image has no {}: {}"


@dataclass(frozen=True)
class AttemptContext:
    """The objects that all runs of the job's launcher share. `rule_matcher` applies the job's log rules. `lacks_hosts`
    returns whether an elastic job has too few slots and is waiting for hosts."""

    job: Job
    layout: Layout
    launcher: Launcher
    loop: Loop
    record: Record
    rule_matcher: RuleMatcher
    lacks_hosts: Callable[[], bool]


@dataclass(frozen=True)
class Outcome:
    """How one run of the launcher ended. `code`: the exit code of the launcher. `was_stopped`: a stop was
    requested. `was_hung`: the supervisor ended the run because it hung. `was_given_up`: the supervisor ended the run
    because ranks on the head failed repeatedly. `is_final`: the job is not restarted after this run."""

    code: int
    was_stopped: bool = False
    was_hung: bool = False
    was_given_up: bool = False
    is_final: bool = False

    @property
    def state(self) -> str:
        """The result in one word: `succeeded`, `failed` or `stopped`."""
        if self.was_stopped:
            return "stopped"
        return "failed" if self.code or self.was_hung or self.was_given_up else "succeeded"


class Attempt:
    """One run of the launcher. `may_go_on` is called if the run hangs, and returns whether the job may be restarted
    then. `should_give_up` is called with the exit mark of each rank (the message that reports its end), and returns
    whether to end the run because of this exit."""

    def __init__(
        self, context: AttemptContext, may_go_on: Callable[[], bool], should_give_up: Callable[[Mark], bool]
    ) -> None:
        self._context = context
        self._may_go_on = may_go_on
        self._should_give_up = should_give_up
        self._launcher_output: LauncherOutput | None = None
        self._failure_reader = context.launcher.failure_reader()
        self._was_hung = False
        self._was_given_up = False
        self._is_killed = False
        job, loop = context.job, context.loop
        settings = HangSettings(
            job.resilience.hang_after_s,
            paths.logs_folder(job.name, context.layout.run),
            context.launcher,
            is_excused=context.lacks_hosts,
        )
        collect = partial(bundle.start_collecting, loop, context.layout, job.name, job.host)
        self._watch = HangWatch(loop, settings, context.record.rank_states.living, collect, self._on_hang)

    def run(self, run: LauncherRun) -> Outcome:
        """Run the launcher until it ends; return how it ended. If the launcher cannot be started, tell the user and
        return an outcome after which the job is not restarted."""
        context = self._context
        env = launcher_env(read_image_env(context.layout.image_env), context.job.grace_s, run.restart)
        try:
            program_path(context.launcher, context.job, env.get("PATH"))
            child = start(
                context.launcher.command(run),
                env,
                context.job.workdir,
                context.job.grace_s + LAUNCHER_EXTRA_GRACE_S,
                subprocess.PIPE,
            )
        except StartError as error:
            say(str(error))
            return Outcome(error.code, is_final=True)
        host_prefix = HostPrefix(context.job.hosts, context.record.rank_states.host_of)
        self._launcher_output = LauncherOutput(
            context.loop, context.launcher, child, self._report, self._on_rank_line, host_prefix, self._on_line
        )
        context.loop.add(self._watch)
        code = self._launcher_output.run()
        context.record.output_lines += self._launcher_output.lines
        self._watch.close()
        was_stopped = self._launcher_output.was_stopped
        return Outcome(code, was_stopped, self._was_hung, self._was_given_up, self._is_killed)

    def _report(self, mark: Mark) -> None:
        """Handle a mark (a JSON message from a rank wrapper). A heartbeat goes to the hang watch. A start or
        exit updates the rank states and the record."""
        now = time.monotonic()
        if mark.get("event") == RANK_BEAT:
            self._watch.idle_timer.beat(mark, now)
            return
        if mark.get("event") == RANK_START:
            self._watch.idle_timer.start(mark)
        self._watch.idle_timer.end(now)
        self._watch.begin()
        record = self._context.record
        record.rank_states.add(mark)
        if self._was_hung or self._was_given_up:
            # The supervisor is ending the run: this mark only reports that, and is no cause.
            record.change()
            return
        if mark.get("event") == RANK_EXIT and self._should_give_up(mark):
            self._watch.close()
            self._was_given_up = self._launcher_output is not None and self._launcher_output.end()
        # Computed after the call above, which may have dropped the host of this rank: a failure on a dropped
        # host does not count as the cause.
        record.attempts[-1].first_failure = record.rank_states.first_failure()
        record.change()

    def _on_rank_line(self, rank: int, line: str) -> None:
        """Handle a line that a rank wrote. Pass it to the hang watch. Note if it shows that the rank raised an
        exception, or that the rank fails because of another rank. Apply the log rules to it."""
        record, rule_matcher = self._context.record, self._context.rule_matcher
        now = time.monotonic()
        self._watch.idle_timer.note_line(rank, line, now)
        if self._context.launcher.is_consequence(line):
            record.rank_states.note_consequence(rank)
        elif TRACEBACK_START.match(line):
            record.rank_states.note_exception(rank, now)
        if rule_matcher.match_line(rank, line, record.rank_states.host_of):
            record.stopped_by = rule_matcher.stopped_by
            if self._context.job.resilience.elastic:
                # A job that is not elastic keeps the host until its next restart.
                record.dropped_by_rule = tuple(rule_matcher.dropped.values())
            record.change()

    def _on_line(self, line: str) -> None:
        """Handle a line of the launcher's own output. If the launcher names a rank that failed, or a rank that failed
        because of another, note that. Ignore other lines."""
        if (rank := self._failure_reader.consequence(line)) is not None:
            self._context.record.rank_states.note_consequence(rank)
            self._note_first_failure()
        if found := self._failure_reader.read(line):
            self._note_failed_rank(*found)

    def _note_failed_rank(self, rank: int, code: int) -> None:
        """Note that the launcher named this rank as failed, with exit code `code`. Update the first failure in the
        record, unless the supervisor itself is ending the run."""
        self._context.record.rank_states.note_failed(rank, code)
        self._note_first_failure()

    def _note_first_failure(self) -> None:
        record = self._context.record
        if not (self._was_hung or self._was_given_up):
            record.attempts[-1].first_failure = record.rank_states.first_failure()
        record.change()

    def _on_hang(self, hang: Hang) -> None:
        """React to a hang as the job's `--on-hang` says: wait, end the run of the launcher so that the job is
        restarted, or end the job. If no restart is left, the value `restart` ends the job too. Called after the stacks
        were collected."""
        then = self._context.job.resilience.on_hang
        if then == "restart" and not self._may_go_on():
            then = "kill"
        self._context.record.hang = replace(hang, then=then)
        self._context.record.change()
        if then == "wait":
            say("the job is left as it is (--on-hang wait)")
            return
        self._watch.close()
        if self._launcher_output and self._launcher_output.end():
            self._was_hung, self._is_killed = True, then == "kill"
            say("ending the run" if then == "restart" else "ending the job")


def program_path(launcher: Launcher, job: Job, search: str | None) -> Path:
    """Return the path of the program in the image that the launcher needs for this job, or the path of Python if the
    launcher needs no program. `search` is the PATH to search (None: the PATH of this process). Raises StartError with
    code 127 if the image has no such program."""
    name = launcher.needed_program(job)
    found = shutil.which(name or PYTHON, path=search)
    if found is None:
        raise StartError(NO_PROGRAM.format(name or PYTHON, launcher.missing_advice), 127)
    return Path(found)


def head_interface(job: Job) -> str | None:
    """Return the name of the network interface that has the head's training address. Return None if it cannot be found;
    the launcher then chooses an interface."""
    try:
        return interface_of(job.head_address)
    except (OSError, ValueError):
        return None
