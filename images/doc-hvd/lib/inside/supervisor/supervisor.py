"""The supervisor: the main process of a master container. It runs the launcher, which starts the ranks,
restarts it if the job allows that, and writes the job's record. It never talks to Docker."""

import sys
import time
from collections.abc import Sequence

from hvdocker.protocol.job_file import Job, JobError, JobHost
from hvdocker.protocol.marks import Mark
from hvdocker.protocol.rank_messages import exit_mark
from hvdocker.protocol.record import AttemptRecord
from inside.launchers import launcher_of
from inside.launchers.launcher import Launcher, LauncherRun
from inside.rank.environment import read_image_env
from inside.rank.out_link import hold_live, point_out_to
from inside.runtime.child import StartError
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.read_job import read_job
from inside.runtime.say import say
from inside.runtime.secrets import remove_secrets, remove_secrets_on_hosts
from inside.supervisor.attempt import Attempt, AttemptContext, Outcome, head_interface, program_path
from inside.supervisor.discovery import Discovery
from inside.supervisor.failing_hosts import FailingHosts
from inside.supervisor.host_probes import hosts_with_leftover_ranks, read_rank_end, responding_hosts, wait_for_old_ranks
from inside.supervisor.log_rules import RuleMatcher
from inside.supervisor.rank_states import RankStates
from inside.supervisor.record import Record
from inside.supervisor.restarts import (
    describe_failure,
    hosts_by_rank,
    loss_is_cause_within_s,
    lost_sentence,
    may_restart,
    remaining_hosts,
    restart_pause_s,
    restart_sentence,
)
from inside.supervisor.versions import installed_versions

SECRETS_LEFT = "the secrets of this job may still be in the worker on {}: the next train removes them"
RANKS_STILL_RUN = "ranks of this job still run on {}"
# Ranks of an ended run get the job's grace plus this, before the next run or the job's end.
EXTRA_GRACE_S = 3.0
# How Python exits after an uncaught exception.
UNCAUGHT_EXCEPTION = {"code": 1, "signal": None}


def main(arguments: Sequence[str], layout: Layout | None = None) -> int:
    """Run `supervisor JOB`: run the job to its end. Return the exit code of the master: 0 (succeeded), 1 (failed, or
    job.json cannot be read or names an unknown launcher), 143 (stopped) or 2 (wrong arguments). `layout` has the
    folders of the container; None stands for the default folders."""
    if len(arguments) != 1:
        print("usage: supervisor JOB", file=sys.stderr)
        return 2
    layout = layout or Layout()
    try:
        job = read_job(arguments[0], layout.run)
        launcher = launcher_of(job)
    except JobError as error:
        say(str(error))
        return 1
    return Supervisor(job, layout, launcher).run()


class Supervisor:
    """One job. It has one or several runs of the launcher, because the job may be restarted after a failed run."""

    def __init__(self, job: Job, layout: Layout, launcher: Launcher) -> None:
        self._job = job
        self._launcher = launcher
        self._layout = layout
        self._loop = Loop()
        self._record = Record(job, layout, find_versions(job, layout, launcher))
        drop = self._drop if job.resilience.elastic else None
        self._rule_matcher = RuleMatcher(job.resilience.rules, job.host, drop)
        self._failing_hosts = FailingHosts(job.host, self._drop)
        timeout_s = launcher.elastic_timeout_s(job)
        is_elastic = job.resilience.elastic is not None
        self._discovery = Discovery(self._loop, layout, job, self._on_host_left, timeout_s) if is_elastic else None
        self._context = AttemptContext(
            job, layout, launcher, self._loop, self._record, self._rule_matcher, self._lacks_hosts
        )

    def run(self) -> int:
        """Run the job to its end, then remove its secrets from all its hosts; return the exit code of the master."""
        _live = hold_live(self._job.name, self._layout.run)
        point_out_to(self._job.name, self._layout.run)
        self._record.write()
        self._loop.add(self._record)
        try:
            state = self._runs()
            code = self._record.finish(state)
            if state != "succeeded" or self._record.rank_states.living():
                self._wait_for_last_ranks()
            return code
        finally:
            if self._discovery:
                self._discovery.close()
            self._remove_secrets()

    def _runs(self) -> str:
        """Run the launcher until the job succeeds, is stopped, or may not be restarted after a failure; return the
        job's final state (`succeeded`, `failed` or `stopped`)."""
        job_hosts = self._first_hosts()
        while not self._loop.stop_requests:
            outcome = self._run_on(job_hosts)
            attempt = self._record.attempts[-1]
            self._complete_record(attempt, outcome)
            if outcome.state != "failed" or outcome.is_final or not self._may_restart():
                return outcome.state
            job_hosts = self._next_hosts()
            if not self._loop.stop_requests:
                self._say_restart(attempt, outcome, job_hosts)
        return "stopped"

    def _first_hosts(self) -> tuple[JobHost, ...]:
        if self._discovery is None:
            return self._job.hosts
        self._discovery.gather()
        return self._discovery.job_hosts()

    def _run_on(self, job_hosts: tuple[JobHost, ...]) -> Outcome:
        is_alone = self._discovery is None and len(job_hosts) < 2
        restart = self._job.resilience.first_restart + len(self._record.attempts)
        run = LauncherRun(self._job, job_hosts, self._layout, head_interface(self._job), is_alone, restart)
        hosts = [job_host.name for job_host in job_hosts]
        self._record.dropped_by_rule = self._rule_matcher.left_out(hosts)
        self._record.begin(self._launcher.requested_rank_count(run), hosts, self._new_rank_states(run))
        self._failing_hosts.begin()
        return Attempt(self._context, self._may_restart, self._should_give_up).run(run)

    def _new_rank_states(self, run: LauncherRun) -> RankStates:
        if self._launcher.restarts_ranks:
            return RankStates(first_np=self._launcher.rank_count(run))
        # torchrun may start ranks again (`--max-restarts`) also if the job is not elastic.
        return RankStates(hosts_by_rank(run.hosts), self._launcher.rank_count(run))

    def _complete_record(self, attempt: AttemptRecord, outcome: Outcome) -> None:
        """Complete the record of a run of the launcher that has ended (`attempt`), from its `outcome`: how it ended,
        the first failure, and the lost hosts. If a rank failed because another host is gone, that rank stays the first
        failure in the record, but the message to the user names the lost host."""
        attempt.finished, attempt.launcher_code = time.time(), outcome.code
        attempt.hosts = list(dict.fromkeys([*attempt.hosts, *self._record.rank_states.hosts()]))
        self._record.write()
        if outcome.state == "failed" and not (outcome.was_hung or outcome.was_given_up):
            self._find_unreported_failure(attempt)
        attempt.lost_hosts = self._find_lost_hosts(attempt, outcome)
        for host in attempt.lost_hosts if outcome.state == "failed" else ():
            say(lost_sentence(host, self._record.rank_states.ranks_on(host)))
        self._record.write()

    def _find_unreported_failure(self, attempt: AttemptRecord) -> None:
        """Find the failure that caused the others, if its rank did not report it, and put it into `attempt`, the record
        of the run. If no such rank is found, nothing changes.

        A rank that raises an exception may shut its framework down before it ends. The other ranks fail because of that
        and may end sooner. The launcher then ends the rank that raised the exception, or closes its connection. In the
        first case the rank reports only that it was asked to end. In the second case it reports nothing, and its host
        is asked how it ended."""
        rank_states = self._record.rank_states
        if ended := rank_states.ended_after_exception(time.monotonic()):
            attempt.first_failure = {**ended, **UNCAUGHT_EXCEPTION, "asked": False}
            return
        if (suspect := rank_states.suspected_cause(time.monotonic())) is None:
            return
        rank, host = suspect[0], str(suspect[1])
        is_here, wait_s = host == self._job.host, self._job.grace_s + EXTRA_GRACE_S
        end = read_rank_end(self._loop, self._layout, self._job.name, (rank, host), is_here, wait_s)
        # The last lines of this rank may not have arrived here. In its log (`said`) they may show that the rank
        # itself failed because of another rank.
        said = str(end.pop("said", "")).splitlines()
        is_own = bool(end.get("code")) and not any(map(self._launcher.is_consequence, said))
        if is_own and rank_states.is_of_this_start(end):
            rank_states.add(exit_mark(end))
            # The rank was asked to end while its framework shut down: report its exception, not the signal.
            attempt.first_failure = {**end, **UNCAUGHT_EXCEPTION} if end.get("asked") else end

    def _find_lost_hosts(self, attempt: AttemptRecord, outcome: Outcome) -> list[str]:
        """Return the hosts that were lost during a run of the launcher. `attempt` is its record, `outcome` how it
        ended. After a failure the hosts are asked whether they respond, before the record is final: a lost host is the
        cause of the failure, whatever ranks on other hosts report. After a run that did not fail, only the logins of an
        elastic job are consulted."""
        others = [host for host in attempt.hosts if host != self._job.host]
        if outcome.state != "failed" or not others:
            return self._known_lost_hosts(others)
        there = responding_hosts(self._loop, self._layout, others)
        there |= self._hosts_lost_long_ago(attempt)
        if (first := attempt.first_failure) and not self._record.rank_states.is_consequence(first):
            # A rank on this host reported its own failure. That explains more than a host that responds
            # slowly, or is gone now.
            there.add(str(first.get("host")))
        if not (outcome.was_hung or outcome.was_given_up):
            # A worker that died may respond again by now; its ranks are gone all the same.
            there -= {self._record.rank_states.vanished_host()}
        return [host for host in others if host not in there]

    def _hosts_lost_long_ago(self, attempt: AttemptRecord) -> set[str]:
        """Return the hosts that an elastic job lost so long before its failure that their loss is not the cause: the
        job had gone on without them. `attempt` is the record of the run of the launcher that failed. Such a run may
        last for hours, so it may have lost hosts much earlier. Empty for a job that is not elastic."""
        if self._discovery is None:
            return set()
        rank_states, first = self._record.rank_states, attempt.first_failure
        is_own = first is not None and not rank_states.is_consequence(first)
        timeout_s = self._launcher.elastic_timeout_s(self._job)
        return rank_states.lost_before(time.monotonic() - loss_is_cause_within_s(timeout_s, is_own))

    def _known_lost_hosts(self, hosts: Sequence[str]) -> list[str]:
        """Return those of `hosts` that are known to be gone, without asking them. Only an elastic job knows this, from
        its logins. For other jobs the result is empty."""
        if self._discovery is None:
            return []
        there = {job_host.name for job_host in self._discovery.job_hosts()} | self._dropped
        return [host for host in hosts if host not in there]

    def _wait_for_last_ranks(self) -> None:
        """Wait until the job's ranks on other hosts have ended, and tell the user on which hosts ranks still run. The
        wait lasts at most the job's `grace_s` and a few seconds, for all hosts together. It is needed because a
        launcher may only close its connections to these ranks, without waiting for them. After a stop the controller
        frees the job's slots and fetches its outputs, so no rank may write outputs any more. The controller kills the
        master STOP_S (45 s) after the stop request."""
        hosts = self._left_behind()
        if self._discovery:
            self._discovery.close()
        wait_s = self._job.grace_s + EXTRA_GRACE_S
        for host in hosts_with_leftover_ranks(self._loop, self._layout, self._job.name, hosts, wait_s):
            say(RANKS_STILL_RUN.format(host))

    def _left_behind(self) -> list[str]:
        """Return the hosts, except the head, on which ranks of this job may still run. Hosts that are known
        to be lost are left out."""
        used: dict[str, None] = {}
        for attempt in self._record.attempts:
            used.update(dict.fromkeys(attempt.hosts))
            for host in attempt.lost_hosts:
                used.pop(host, None)
        others = [host for host in used if host != self._job.host]
        lost = self._known_lost_hosts(others)
        return [host for host in others if host not in lost]

    def _may_restart(self) -> bool:
        stopped = self._rule_matcher.stopped_by is not None
        return may_restart(self._job.resilience, self._record.restarts, stopped)

    def _next_hosts(self) -> tuple[JobHost, ...]:
        """Pause (longer after quick failures), and wait for the ranks of the last run of the launcher to end. Return
        the hosts of the next run."""
        runs = [(run.finished or run.started) - run.started for run in self._record.attempts]
        self._loop.pause(restart_pause_s(runs))
        hosts = self._discovery.names() if self._discovery else self._job.other_hosts
        asked = [host for host in hosts if host not in self._dropped]
        wait_s = self._job.grace_s + EXTRA_GRACE_S
        there = wait_for_old_ranks(self._loop, self._layout, self._job.name, self._job.host, asked, wait_s)
        if self._discovery:
            return self._discovery.job_hosts()
        return remaining_hosts(self._job.hosts, self._job.host, there, self._dropped)

    def _say_restart(self, attempt: AttemptRecord, outcome: Outcome, job_hosts: Sequence[JobHost]) -> None:
        if outcome.was_hung:
            why = "hung"
        elif attempt.lost_hosts:
            # Failures of ranks on other hosts are consequences of the loss.
            why = f"failed ({', '.join(attempt.lost_hosts)} stopped answering)"
        else:
            why = describe_failure(attempt.first_failure, outcome.code)
        used = self._record.restarts + 1
        say(restart_sentence(attempt.number, why, job_hosts, self._job.resilience, used))

    def _should_give_up(self, end: Mark) -> bool:
        """Note the end of a rank of an elastic job (`end` is the message that reports it). Return whether to end the
        run of the launcher because ranks on the head failed repeatedly. Return False for a job that is not elastic,
        because only the launcher of an elastic job restarts ranks by itself."""
        if self._discovery is None or self._loop.stop_requests:
            return False
        gives_up = self._failing_hosts.note_exit(end, self._record.rank_states.is_root_failure(end))
        self._record.failing_hosts = tuple(self._failing_hosts.dropped.values())
        return gives_up

    def _lacks_hosts(self) -> bool:
        return self._discovery is not None and self._discovery.is_short

    @property
    def _dropped(self) -> set[str]:
        """The hosts that were dropped by a log rule or because their ranks failed repeatedly."""
        return {*self._rule_matcher.dropped, *self._failing_hosts.dropped}

    def _drop(self, host: str) -> None:
        if self._discovery:
            self._record.rank_states.drop(host)
            self._discovery.drop(host)

    def _on_host_left(self, host: str) -> None:
        self._record.rank_states.lose(host, time.monotonic())
        self._failing_hosts.reset(host)

    def _remove_secrets(self) -> None:
        if not self._job.secrets:
            return
        remove_secrets(self._job.name, self._layout.run)
        hosts = self._discovery.names() if self._discovery else []
        everywhere = list(dict.fromkeys([*self._job.other_hosts, *hosts]))
        for host in remove_secrets_on_hosts(self._job.name, everywhere, self._layout.bin):
            say(SECRETS_LEFT.format(host))


def find_versions(job: Job, layout: Layout, launcher: Launcher) -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed beside the program of the launcher, by
    package name. They are written to the record. Empty if the image has no such program. `layout` says where the
    container's files are."""
    image = read_image_env(layout.image_env)
    try:
        return installed_versions(program_path(launcher, job, image.get("PATH")))
    except (StartError, OSError):
        return {}
