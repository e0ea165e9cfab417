"""The supervisor: the main process of a master container. It runs the launcher, runs it again where the job
says so, and writes the record of the job. It never talks to Docker."""

import sys
import time
from collections.abc import Sequence

from inside.protocol.job import Job, JobError, JobHost, read_job
from inside.protocol.layout import Layout
from inside.protocol.marks import Mark
from inside.rank.environment import read_image_env
from inside.rank.out_link import hold_live, point_out_to
from inside.runtime.child import StartError
from inside.runtime.loop import Loop
from inside.runtime.say import say
from inside.runtime.secrets import forget_elsewhere, forget_secrets
from inside.supervisor.attempt import FOLLOWS, Attempt, AttemptContext, Outcome, launcher_path
from inside.supervisor.discovery import Discovery
from inside.supervisor.failing_hosts import FailingHosts
from inside.supervisor.host_probes import answering, end_of_rank, lingering, settled
from inside.supervisor.log_rules import RuleMatcher
from inside.supervisor.rank_states import RankStates
from inside.supervisor.record import AttemptRecord, Record
from inside.supervisor.restarts import (
    elastic_words_for,
    failure_words,
    first_ranks,
    host_of_ranks,
    loss_counts_s,
    lost_sentence,
    may_restart,
    pause_before,
    restart_sentence,
    seats_left,
    slots_of,
    value_of,
    words_for,
)
from inside.supervisor.versions import versions_beside

LEFT = "the secrets of this job may still be in the worker on {}: the next train removes them"
STILL = "ranks of this job still run on {}"
# Ranks of a run that is over have their grace, and this, to be gone before the next run, or the job's end.
GONE_EXTRA_S = 3.0
# How Python ends with an exception that nobody caught.
RAISED = {"code": 1, "signal": None}


def main(arguments: Sequence[str], places: Layout | None = None) -> int:
    """`supervisor JOB`: run the job to its end; exit 0, 1 or 143."""
    if len(arguments) != 1:
        print("usage: supervisor JOB", file=sys.stderr)
        return 2
    places = places or Layout()
    try:
        job = read_job(arguments[0], places.run)
    except JobError as error:
        say(str(error))
        return 1
    return Supervisor(job, places).run()


class Supervisor:
    """One job, in one run of the launcher or several."""

    def __init__(self, job: Job, places: Layout) -> None:
        self._job = job
        self._places = places
        self._loop = Loop()
        self._record = Record(job, places, find_versions(job, places))
        drop = self._drop if job.endurance.elastic else None
        self._judge = RuleMatcher(job.endurance.rules, job.host, drop)
        self._strikes = FailingHosts(job.host, self._drop)
        self._discovery = Discovery(self._loop, places, job, self._left) if job.endurance.elastic else None
        self._around = AttemptContext(job, places, self._loop, self._record, self._judge, self._lacks_hosts)

    def run(self) -> int:
        """Run the job to its end; returns the exit code. Its secrets do not outlive it."""
        _live = hold_live(self._job.name, self._places.run)
        point_out_to(self._job.name, self._places.run)
        self._record.write()
        self._loop.add(self._record)
        try:
            state = self._runs()
            code = self._record.finish(state)
            if state != "succeeded" or self._record.ledger.living():
                self._see_off()
            return code
        finally:
            if self._discovery:
                self._discovery.close()
            self._forget_secrets()

    def _runs(self) -> str:
        """Run after run; returns the state in which the job ends."""
        seats = self._first_seats()
        while not self._loop.stops:
            outcome = self._run_on(seats)
            attempt = self._record.attempts[-1]
            self._settle(attempt, outcome)
            if outcome.state != "failed" or outcome.is_final or not self._may_restart():
                return outcome.state
            seats = self._next_seats()
            if not self._loop.stops:
                self._say_restart(attempt, outcome, seats)
        return "stopped"

    def _first_seats(self) -> tuple[JobHost, ...]:
        if self._discovery is None:
            return self._job.seats
        self._discovery.gather()
        return self._discovery.seats()

    def _run_on(self, seats: Sequence[JobHost]) -> Outcome:
        words = self._words(seats)
        np = int(value_of(words, "-np") or slots_of(seats))
        hosts = [seat.name for seat in seats]
        self._record.dropped = self._judge.left_out(hosts)
        attempt = self._record.begin(np, hosts, self._new_ledger(seats, np))
        is_alone = self._discovery is None and len(seats) < 2
        restart = self._job.endurance.first_restart + attempt.number - 1
        self._strikes.begin()
        return Attempt(self._around, self._may_restart, self._leads_nowhere).run(words, is_alone, restart)

    def _new_ledger(self, seats: Sequence[JobHost], np: int) -> RankStates:
        elastic = self._job.endurance.elastic
        if elastic is None:
            return RankStates(host_of_ranks(seats))
        return RankStates(first_np=first_ranks(np, slots_of(seats), elastic.max_np))

    def _words(self, seats: Sequence[JobHost]) -> list[str]:
        elastic, launcher = self._job.endurance.elastic, self._job.launcher
        if elastic:
            return elastic_words_for(launcher, elastic.min_np, slots_of(seats))
        return words_for(launcher, seats) if seats != self._job.seats else list(launcher)

    def _settle(self, attempt: AttemptRecord, outcome: Outcome) -> None:
        """Note how the run ended, and which hosts are gone. A rank that failed because its peer is gone is
        still the first failure; the person is told what lies behind it."""
        attempt.finished, attempt.launcher_code = time.time(), outcome.code
        attempt.hosts = list(dict.fromkeys([*attempt.hosts, *self._record.ledger.hosts()]))
        self._record.write()
        if outcome.state == "failed" and not (outcome.was_hung or outcome.was_given_up):
            self._hear_out(attempt)
        attempt.lost_hosts = self._lost(attempt, outcome)
        for host in attempt.lost_hosts if outcome.state == "failed" else ():
            say(lost_sentence(host, self._record.ledger.ranks_on(host)))
        self._record.write()

    def _hear_out(self, attempt: AttemptRecord) -> None:
        """A rank that raises takes its leave of the others, who fail of it, and may be done before it is."""
        ledger = self._record.ledger
        if (suspect := ledger.suspect(time.monotonic())) is None:
            return
        rank, host = suspect[0], str(suspect[1])
        is_here, wait_s = host == self._job.host, self._job.grace_s + GONE_EXTRA_S
        end = end_of_rank(self._loop, self._places, self._job.name, (rank, host), is_here, wait_s)
        # Its own words may have been cut off on their way here, and tell that it followed another, too.
        if end.get("code") and not FOLLOWS.search(end.pop("said")) and ledger.is_of_this_start(end):
            ledger.add({"event": "rank-exit", **end})
            # That it was killed while it took its leave is our own doing.
            attempt.first_failure = {**end, **RAISED} if end.get("asked") else end

    def _lost(self, attempt: AttemptRecord, outcome: Outcome) -> list[str]:
        others = [host for host in attempt.hosts if host != self._job.host]
        if outcome.state != "failed" or not others:
            return self._away(others)
        there = answering(self._loop, self._places, others)
        there |= self._survived(attempt)
        if (first := attempt.first_failure) and not self._record.ledger.is_consequence(first):
            # It told how it failed: that its host is slow to answer, or gone by now, is no better a reason.
            there.add(str(first.get("host")))
        if not (outcome.was_hung or outcome.was_given_up):
            # A worker that died may be back by now; its ranks are not.
            there -= {self._record.ledger.vanished()}
        return [host for host in others if host not in there]

    def _survived(self, attempt: AttemptRecord) -> set[str]:
        """The hosts whose loss an elastic job had got over by the time it failed."""
        if self._discovery is None:
            return set()
        ledger, first = self._record.ledger, attempt.first_failure
        is_own = first is not None and not ledger.is_consequence(first)
        return ledger.lost_before(time.monotonic() - loss_counts_s(self._job.launcher, is_own))

    def _away(self, hosts: Sequence[str]) -> list[str]:
        """Those that are known to be gone without being asked; only the logins of an elastic job tell."""
        if self._discovery is None:
            return []
        there = {seat.name for seat in self._discovery.seats()} | self._dropped
        return [host for host in hosts if host not in there]

    def _see_off(self) -> None:
        """Who stops a job frees its slots and fetches its outputs next: no rank may be at them by then."""
        hosts = self._left_behind()
        if self._discovery:
            self._discovery.close()
        wait_s = self._job.grace_s + GONE_EXTRA_S
        for host in lingering(self._loop, self._places, self._job.name, hosts, wait_s):
            say(STILL.format(host))

    def _left_behind(self) -> list[str]:
        """The other hosts where ranks may still be, without those that are known to be lost."""
        used: dict[str, None] = {}
        for attempt in self._record.attempts:
            used.update(dict.fromkeys(attempt.hosts))
            for host in attempt.lost_hosts:
                used.pop(host, None)
        others = [host for host in used if host != self._job.host]
        away = self._away(others)
        return [host for host in others if host not in away]

    def _may_restart(self) -> bool:
        stopped = self._judge.stopped_by is not None
        return may_restart(self._job.endurance, self._record.restarts, stopped)

    def _next_seats(self) -> tuple[JobHost, ...]:
        """Wait a moment, longer where runs fail at once, and for what the last one left; see who is there."""
        runs = [(run.finished or run.started) - run.started for run in self._record.attempts]
        self._loop.pause(pause_before(runs))
        hosts = self._discovery.names() if self._discovery else self._job.other_hosts
        asked = [host for host in hosts if host not in self._dropped]
        wait_s = self._job.grace_s + GONE_EXTRA_S
        there = settled(self._loop, self._places, self._job.name, self._job.host, asked, wait_s)
        if self._discovery:
            return self._discovery.seats()
        return seats_left(self._job.seats, self._job.host, there, self._dropped)

    def _say_restart(self, attempt: AttemptRecord, outcome: Outcome, seats: Sequence[JobHost]) -> None:
        if outcome.was_hung:
            why = "hung"
        elif attempt.lost_hosts:
            # What ranks elsewhere died of followed from it.
            why = f"failed ({', '.join(attempt.lost_hosts)} stopped answering)"
        else:
            why = failure_words(attempt.first_failure, outcome.code)
        used = self._record.restarts + 1
        say(restart_sentence(attempt.number, why, seats, self._job.endurance, used))

    def _leads_nowhere(self, end: Mark) -> bool:
        """A rank has ended. Only Horovod Elastic starts ranks again by itself."""
        if self._discovery is None or self._loop.stops:
            return False
        is_nowhere = self._strikes.see(end, self._record.ledger.fails_by_itself(end))
        self._record.struck = tuple(self._strikes.struck.values())
        return is_nowhere

    def _lacks_hosts(self) -> bool:
        return self._discovery is not None and self._discovery.is_short

    @property
    def _dropped(self) -> set[str]:
        """By a rule, or because their ranks fail."""
        return {*self._judge.dropped, *self._strikes.struck}

    def _drop(self, host: str) -> None:
        if self._discovery:
            self._record.ledger.drop(host)
            self._discovery.drop(host)

    def _left(self, host: str) -> None:
        self._record.ledger.lose(host, time.monotonic())
        self._strikes.forgive(host)

    def _forget_secrets(self) -> None:
        if not self._job.secrets:
            return
        forget_secrets(self._job.name, self._places.run)
        hosts = self._discovery.names() if self._discovery else []
        everywhere = list(dict.fromkeys([*self._job.other_hosts, *hosts]))
        for host in forget_elsewhere(self._job.name, everywhere, self._places.bin):
            say(LEFT.format(host))


def find_versions(job: Job, places: Layout) -> dict[str, str]:
    """Of what the launcher runs with; nothing where there is no launcher."""
    image = read_image_env(places.image_env)
    try:
        return versions_beside(launcher_path(job.launcher[0], image.get("PATH")))
    except (StartError, OSError, IndexError):
        return {}
