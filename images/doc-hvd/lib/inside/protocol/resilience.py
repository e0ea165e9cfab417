"""What the job does when something goes wrong, as job.json says it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Elastic:
    """Horovod Elastic: the fewest ranks that go on, and the most there may be."""

    min_np: int
    max_np: int | None = None


@dataclass(frozen=True)
class Rule:
    """A regular expression over lines of ranks; `then` is drop (that host) or stop (running again)."""

    pattern: str
    then: str


@dataclass(frozen=True)
class Resilience:
    """A job file that says nothing of it asks for nothing."""

    restarts: int = 0
    first_restart: int = 0
    elastic: Elastic | None = None
    hang_after_s: float = 600.0
    on_hang: str = "wait"
    rules: tuple[Rule, ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether ranks may be started anew after their launcher, or their host's link to it, was gone."""
        return self.restarts > 0 or self.elastic is not None


def parse_endurance(data: Mapping[str, Any]) -> Resilience:  # Any: JSON
    """From the part of job.json; raises KeyError or TypeError where it is malformed."""
    elastic = data.get("elastic")
    return Resilience(
        restarts=int(data.get("restarts", 0)),
        first_restart=int(data.get("first_restart", 0)),
        elastic=Elastic(int(elastic["min_np"]), elastic.get("max_np")) if elastic else None,
        hang_after_s=float(data.get("hang_after_s", 600.0)),
        on_hang=str(data.get("on_hang", "wait")),
        rules=tuple(Rule(str(rule["pattern"]), str(rule["then"])) for rule in data.get("rules", ())),
    )
