"""What `train` shows while it runs, and what it returns."""

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
    """Sent to the viewer as soon as the master runs."""

    job: str
    placement: Placement
    np: int


@dataclass
class Viewer:
    """Callbacks to the caller. Each is optional."""

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
    # Restarts that followed the loss of a head.
    restarts_before: int = 0

    def ended(self, flag: str) -> EndedJob | None:
        """Return the end for the verdict, None for a detached job."""
        if self.end is None:
            return None
        return EndedJob(self.job, self.placement, self.end, self.last_lines, flag, self.restarts_before)
