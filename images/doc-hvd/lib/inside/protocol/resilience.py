"""What a job does after failures, as given in job.json: restarts, elastic, hangs, log rules. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Elastic:
    """Horovod Elastic: the fewest ranks with which the job goes on, and the most it may have (None: no
    limit)."""

    min_np: int
    max_np: int | None = None


@dataclass(frozen=True)
class Rule:
    """A regular expression over the lines of ranks. `then` is `drop` (leave that host out) or `stop` (no
    further restart)."""

    pattern: str
    then: str


@dataclass(frozen=True)
class Resilience:
    """How a job reacts to failures. `restarts` is how many are left to this master, `first_restart` how many
    were made before it. The defaults apply to a job file without this part: no restarts, not elastic, no
    rules."""

    restarts: int = 0
    first_restart: int = 0
    elastic: Elastic | None = None
    hang_after_s: float = 600.0
    on_hang: str = "wait"
    rules: tuple[Rule, ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether ranks may be started again after the launcher, or the link of their host to it, was
        lost."""
        return self.restarts > 0 or self.elastic is not None


def parse_resilience(data: Mapping[str, Any]) -> Resilience:  # Any: JSON
    """Parse this part of job.json (key `endurance`). Raises KeyError or TypeError if it is malformed."""
    elastic = data.get("elastic")
    return Resilience(
        restarts=int(data.get("restarts", 0)),
        first_restart=int(data.get("first_restart", 0)),
        elastic=Elastic(int(elastic["min_np"]), elastic.get("max_np")) if elastic else None,
        hang_after_s=float(data.get("hang_after_s", 600.0)),
        on_hang=str(data.get("on_hang", "wait")),
        rules=tuple(Rule(str(rule["pattern"]), str(rule["then"])) for rule in data.get("rules", ())),
    )
