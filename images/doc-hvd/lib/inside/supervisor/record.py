"""The record of a job, record.json. It is written at the start and after every change, so that it is useful
even if the master is killed."""

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from inside.protocol import paths
from inside.protocol.atomic_json import write_json
from inside.protocol.job import Job
from inside.protocol.layout import Layout
from inside.protocol.marks import Mark
from inside.runtime.say import say
from inside.supervisor.failing_hosts import DroppedHost
from inside.supervisor.log_rules import MatchedLine
from inside.supervisor.rank_states import RankStates

EXIT_CODES = {"succeeded": 0, "failed": 1, "stopped": 128 + signal.SIGTERM}
# Changes within this time are written together.
WRITE_DELAY_S = 0.5


@dataclass
class AttemptRecord:
    """One run of the launcher (horovodrun), numbered from 1. The fields are keys in record.json; times are seconds
    since the epoch. `np`: how many ranks the launcher was told to start. `launcher_code`: the launcher's exit code.
    `first_failure`: the exit mark (the message that reports a rank's end) of the rank that failed first. `lost_hosts`:
    hosts that stopped responding during the run."""

    number: int
    started: float
    np: int
    hosts: list[str]
    finished: float | None = None
    launcher_code: int | None = None
    first_failure: Mark | None = None
    lost_hosts: list[str] = field(default_factory=list)


class Record:
    """The state of a job, as written to record.json. The event loop asks `due` when to wake up, and then calls `tick`.
    The exit code of the master container, not this file, is the final word on how the job ended. `versions` maps
    installed packages to their versions. `output_lines` counts the output lines of all runs of the launcher
    (horovodrun) that are over. The engine's log of the container has a size limit; a reader of that log compares the
    count to find out whether lines are missing."""

    def __init__(self, job: Job, layout: Layout, versions: Mapping[str, str]) -> None:
        self.attempts: list[AttemptRecord] = []
        self.rank_states = RankStates()
        self.dropped: Sequence[MatchedLine] = ()
        self.failing_hosts: Sequence[DroppedHost] = ()
        self.stopped_by: MatchedLine | None = None
        self.hang: Mapping[str, Any] | None = None  # Any: JSON
        self.output_lines = 0
        self._job = job
        self._versions = dict(versions)
        self._paths = (layout.record, paths.logs_folder(job.name, layout.run) / "record.json")
        self._started = time.time()
        self._state = "running"
        self._finished: float | None = None
        self._due: float | None = None
        self._troubled: set[str] = set()

    @property
    def restarts(self) -> int:
        """How often this master has restarted the job."""
        return max(0, len(self.attempts) - 1)

    def begin(self, np: int, hosts: Sequence[str], rank_states: RankStates) -> AttemptRecord:
        """Add a run of the launcher with `np` ranks on `hosts`, and write the record. `rank_states` replaces
        the rank states of the last run."""
        self.rank_states = rank_states
        self.attempts.append(AttemptRecord(len(self.attempts) + 1, time.time(), np, list(hosts)))
        self.write()
        return self.attempts[-1]

    def finish(self, state: str) -> int:
        """Write the final state (`succeeded`, `failed` or `stopped`); return the exit code of the master container for
        it."""
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

    def as_json(self) -> dict[str, Any]:  # Any: JSON
        """Return the content of record.json; JobRecord in hvdocker/protocol/job.py explains it. Values are `Any`
        because they become JSON."""
        last = self.attempts[-1] if self.attempts else None
        return {
            "job": self._job.name,
            "cluster": self._job.cluster,
            "state": self._state,
            "code": EXIT_CODES.get(self._state),
            "launcher_code": last.launcher_code if last else None,
            "started": self._started,
            "finished": self._finished,
            "ranks": self.rank_states.ranks(),
            "first_failure": last.first_failure if last else None,
            "lost_hosts": last.lost_hosts if last else [],
            "restarts": self.restarts,
            "attempts": [asdict(attempt) for attempt in self.attempts],
            "dropped": [match.as_json() for match in self.dropped],
            "struck": [one.as_json() for one in self.failing_hosts],
            "stopped_by_rule": self.stopped_by.as_json() if self.stopped_by else None,
            "hang": self.hang,
            "output_lines": self.output_lines,
            "versions": self._versions,
        }
