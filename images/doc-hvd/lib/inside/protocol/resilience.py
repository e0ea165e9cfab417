"""What a job does after failures, as given in job.json: restarts, elastic, hangs, log rules. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Elastic:
    """The bounds of a Horovod Elastic job. It goes on as long as it has `min_np` ranks, and may have up to
    `max_np` (None: no limit)."""

    min_np: int
    max_np: int | None = None


@dataclass(frozen=True)
class Rule:
    """A log rule. `pattern` is a regular expression for the output lines of ranks. `then` is what a match causes:
    `drop` leaves the host of that rank out of the job, `stop` forbids further restarts."""

    pattern: str
    then: str


@dataclass(frozen=True)
class Resilience:
    """How a job reacts to failures. `restarts` is how many restarts are left to this master, `first_restart` how
    many were made before this master. A job without progress for `hang_after_s` seconds hangs (0: never);
    `on_hang` says what happens then. The defaults apply if job.json does not have these settings: no restarts, not
    elastic, no rules."""

    restarts: int = 0
    first_restart: int = 0
    elastic: Elastic | None = None
    hang_after_s: float = 600.0
    on_hang: str = "wait"
    rules: tuple[Rule, ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether the job may start ranks again after the launcher was lost, or after a host lost its connection
        to the launcher."""
        return self.restarts > 0 or self.elastic is not None


def parse_resilience(data: Mapping[str, Any]) -> Resilience:  # Any: JSON
    """Parse the resilience settings in job.json (key `endurance`). Raises KeyError or TypeError if they are
    malformed."""
    elastic = data.get("elastic")
    return Resilience(
        restarts=int(data.get("restarts", 0)),
        first_restart=int(data.get("first_restart", 0)),
        elastic=Elastic(int(elastic["min_np"]), elastic.get("max_np")) if elastic else None,
        hang_after_s=float(data.get("hang_after_s", 600.0)),
        on_hang=str(data.get("on_hang", "wait")),
        rules=tuple(Rule(str(rule["pattern"]), str(rule["then"])) for rule in data.get("rules", ())),
    )
