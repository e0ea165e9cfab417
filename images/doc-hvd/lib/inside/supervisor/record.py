"""The record of a job, record.json. It is written at the start and after every change, so that it is useful
even if the master is killed."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from hvdocker.protocol import paths
from hvdocker.protocol.job_file import Job
from hvdocker.protocol.record import EXIT_CODES, RECORD_FILE, AttemptRecord, DroppedHost, Hang, RecordContent
from inside.runtime.atomic_json import write_json
from inside.runtime.layout import Layout
from inside.runtime.say import say
from inside.supervisor.log_rules import MatchedLine
from inside.supervisor.rank_states import RankStates

# Changes within this time are written together.
WRITE_DELAY_S = 0.5


class Record:
    """The state of a job, as written to record.json. After setting a field, call `change`; the event loop then writes
    the file by `due` and `tick`. `begin` and `finish` write it at once. If the supervisor is killed, the file keeps the
    state `running`. Then the exit code of the master container says how the job ended.

    `dropped_by_rule` has, for each host that a log rule dropped, the matching line of output. `stopped_by` is the line
    of output that matched a log rule which forbids restarts. `failing_hosts` are the hosts whose ranks failed several
    times in a row. `output_lines` counts the output lines of all runs of the launcher that are over. The engine's log
    of the container has a size limit, so a reader of that log compares this count with the lines that it read.
    `versions` maps installed packages to their versions."""

    def __init__(self, job: Job, layout: Layout, versions: Mapping[str, str]) -> None:
        self.attempts: list[AttemptRecord] = []
        self.rank_states = RankStates()
        self.dropped_by_rule: Sequence[MatchedLine] = ()
        self.failing_hosts: Sequence[DroppedHost] = ()
        self.stopped_by: MatchedLine | None = None
        self.hang: Hang | None = None
        self.output_lines = 0
        self._job = job
        self._versions = dict(versions)
        self._paths = (layout.record, paths.logs_folder(job.name, layout.run) / RECORD_FILE)
        self._started = time.time()
        self._state = "running"
        self._finished: float | None = None
        self._due: float | None = None
        self._troubled: set[str] = set()

    @property
    def restarts(self) -> int:
        """How often this master container has restarted the job."""
        return max(0, len(self.attempts) - 1)

    def begin(self, np: int, hosts: Sequence[str], rank_states: RankStates) -> AttemptRecord:
        """Add a run of the launcher with `np` ranks on `hosts`, write record.json, and return the record of this run.
        `rank_states` replaces the rank states of the last run."""
        self.rank_states = rank_states
        self.attempts.append(AttemptRecord(len(self.attempts) + 1, time.time(), np, list(hosts)))
        self.write()
        return self.attempts[-1]

    def finish(self, state: str) -> int:
        """Write the final state (`succeeded`, `failed` or `stopped`) to the record. Return the exit code with which the
        master container ends in this state."""
        self._state, self._finished = state, time.time()
        self.write()
        return EXIT_CODES[state]

    def change(self) -> None:
        """Schedule a write of record.json, because something has changed. `tick` writes it WRITE_DELAY_S later, so
        that changes that follow each other quickly are written together."""
        if self._due is None:
            self._due = time.monotonic() + WRITE_DELAY_S

    def due(self) -> float | None:
        return self._due

    def tick(self) -> None:
        if self._due is not None and time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Write the record now, to the container (/run/hvdocker/record.json) and to the job's folder for logs. A
        failed write is reported once for each file and does not end the job."""
        self._due = None
        value = self.as_json()
        for path in self._paths:
            try:
                write_json(path, value)
            except OSError as error:
                if str(path) not in self._troubled:
                    self._troubled.add(str(path))
                    say(f"cannot write {path}: {error}")

    def as_json(self) -> Mapping[str, Any]:  # Any: JSON
        """Return the content of record.json. Values are `Any` because they become JSON."""
        return RecordContent(
            job=self._job.name,
            cluster=self._job.cluster,
            state=self._state,
            started=self._started,
            finished=self._finished,
            ranks=self.rank_states.ranks(),
            attempts=self.attempts,
            dropped_by_rule=[match.for_record() for match in self.dropped_by_rule],
            dropped_hosts=self.failing_hosts,
            stopped_by_rule=self.stopped_by.for_record() if self.stopped_by else None,
            hang=self.hang,
            output_lines=self.output_lines,
            versions=self._versions,
            launcher=self._job.launcher.name,
            launcher_reason=self._job.launcher.reason,
        ).as_json()
