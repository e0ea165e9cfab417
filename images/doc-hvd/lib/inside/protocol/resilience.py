"""What a job does after failures, as given in job.json: restarts, elastic, hangs, log rules. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Elastic:
    """The bounds of a Horovod Elastic job, which can go on while its number of ranks changes. It goes on as long as it
    has at least `min_np` ranks, and may have up to `max_np` (None: no limit)."""

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
    """How a job reacts to failures. `restarts` is how many restarts are left to this master, `first_restart` how many
    were made before this master. `elastic` is None for a job that is not elastic. A job without progress for
    `hang_after_s` seconds hangs (0: never); `on_hang` says what happens then: `wait` (nothing), `kill` (the job is
    ended) or `restart`. `rules` are the log rules. The defaults apply to settings that job.json does not have."""

    restarts: int = 0
    first_restart: int = 0
    elastic: Elastic | None = None
    hang_after_s: float = 600.0
    on_hang: str = "wait"
    rules: tuple[Rule, ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether the job may start ranks again after the launcher (horovodrun) was lost, or after a host lost its
        connection to the launcher. True if it has restarts left or is elastic."""
        return self.restarts > 0 or self.elastic is not None


def parse_resilience(data: Mapping[str, Any]) -> Resilience:  # Any: JSON
    """Return the settings in `data`, a part of job.json (key `endurance`) whose keys are the fields of Resilience.
    Missing settings get their defaults. Raises KeyError, TypeError or ValueError if they are malformed. Values are
    `Any` because they come from parsed JSON."""
    elastic = data.get("elastic")
    return Resilience(
        restarts=int(data.get("restarts", 0)),
        first_restart=int(data.get("first_restart", 0)),
        elastic=Elastic(int(elastic["min_np"]), elastic.get("max_np")) if elastic else None,
        hang_after_s=float(data.get("hang_after_s", 600.0)),
        on_hang=str(data.get("on_hang", "wait")),
        rules=tuple(Rule(str(rule["pattern"]), str(rule["then"])) for rule in data.get("rules", ())),
    )
