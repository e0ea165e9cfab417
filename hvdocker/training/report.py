"""The callbacks with which `train` informs its caller while it runs, and the report that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hvdocker.jobs import job_container
from hvdocker.jobs.outcome import EndedJob, JobEnd
from hvdocker.observe.state import HostSeen
from hvdocker.placement.strategies import Explanation
from hvdocker.plan.plan import Plan
from hvdocker.protocol.placement import Placement


@dataclass(frozen=True)
class Started:
    """The argument of the callback `Viewer.started`: a job that has started, that is, whose master runs. `job` is the
    id of the job, `np` its number of ranks."""

    job: str
    placement: Placement
    np: int


@dataclass
class Viewer:
    """Callbacks with which `train` informs its caller while it runs. Each is optional.

    `plan` gets the plan before it is applied. `started` is called when the master runs, `line` for each line of the
    job's output, and `stopping` when Ctrl-C begins to stop the job. `explained` gets an explanation why these hosts and
    slots were chosen; None if the caller does not want one."""

    plan: Callable[[Plan], None] = lambda plan: None
    started: Callable[[Started], None] = lambda started: None
    line: job_container.OnLine = lambda line: None
    stopping: Callable[[], None] = lambda: None
    explained: Callable[[Explanation], None] | None = None


@dataclass(frozen=True)
class TrainReport:
    job: str
    placement: Placement
    plan: Plan
    hosts: Mapping[str, HostSeen]
    end: JobEnd | None = None
    last_lines: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    # The number of restarts before the last master was created (see Resilience.first_restart); 0 if it kept its head.
    restarts_before: int = 0
    # The number of ranks; more than slots only with a launcher that is a pool.
    np: int = 0

    def ended(self, flag: str) -> EndedJob | None:
        """Return how the job ended. Return None for a detached job or a dry run, whose end is not known.

        `flag` is what suggested commands need to name the cluster, such as ` --cluster NAME`, or empty."""
        if self.end is None:
            return None
        return EndedJob(self.job, self.placement, self.end, self.last_lines, flag, self.restarts_before)
