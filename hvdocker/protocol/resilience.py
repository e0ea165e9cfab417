"""What a job does on failure: restarts, elastic bounds, the time without progress that counts as a hang, and
rules on its output. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HANG_AFTER_S = 600.0
ON_HANG = ("wait", "kill", "restart")
# What a log rule does on a match: drop the host of the line from the job, or do not restart the job.
RULE_THEN = ("drop", "stop")


@dataclass(frozen=True)
class Elastic:
    """The bounds of an elastic job, which can go on while its number of ranks changes: `min_np` to `max_np`
    ranks. A `max_np` of None means no upper bound."""

    min_np: int
    max_np: int | None = None

    @staticmethod
    def read(label: str) -> Elastic | None:
        """Parse the value of a master's label `hvdocker.elastic`: the bounds as `min:max`, such as `2:8`. An empty or
        missing max means no upper bound. Return None for any other text, for example an empty one."""
        fewest, _, most = label.partition(":")
        if not label.isascii() or not fewest.isdecimal() or (most and not most.isdecimal()):
            return None
        return Elastic(int(fewest), int(most) if most else None)


@dataclass(frozen=True)
class Rule:
    """A log rule: `pattern` is a regular expression for the output lines of ranks, `then` is what a match causes:
    `drop` leaves the host of the rank out of the job (if the job is not elastic, from its next restart on), `stop`
    forbids further restarts. The head is never dropped."""

    pattern: str
    then: str


@dataclass(frozen=True)
class Resilience:
    """What a job does on failure. `restarts` is the number of restarts that this master may make. `first_restart` is
    the number of restarts that were made before this master was created: a job that lost its head is started again with
    a new master. `elastic` is None for a job that is not elastic. `hang_after_s` is the time without progress that
    counts as a hang (0: hangs are not detected), and `on_hang` what happens then: `wait` (nothing), `kill` (the job is
    ended) or `restart`. `rules` are the log rules."""

    restarts: int = 0
    first_restart: int = 0
    elastic: Elastic | None = None
    hang_after_s: float = HANG_AFTER_S
    on_hang: str = "wait"
    rules: tuple[Rule, ...] = ()

    @property
    def goes_on(self) -> bool:
        """Whether the job may start ranks again after the launcher was lost, or after a host lost its connection to
        the launcher. True if it has restarts left or is elastic."""
        return self.restarts > 0 or self.elastic is not None

    def as_json(self) -> Mapping[str, object]:
        elastic = self.elastic
        return {
            "restarts": self.restarts,
            "first_restart": self.first_restart,
            "elastic": {"min_np": elastic.min_np, "max_np": elastic.max_np} if elastic else None,
            "hang_after_s": self.hang_after_s,
            "on_hang": self.on_hang,
            "rules": [{"pattern": rule.pattern, "then": rule.then} for rule in self.rules],
        }


def parse_resilience(data: Mapping[str, Any]) -> Resilience:  # Any: JSON
    """Return the settings in `data`, a part of job.json (key `endurance`) whose keys are the fields of Resilience.
    Missing settings get their defaults. Raises KeyError, TypeError or ValueError if they are malformed. Values are
    `Any` because they come from parsed JSON."""
    elastic = data.get("elastic")
    return Resilience(
        restarts=int(data.get("restarts", 0)),
        first_restart=int(data.get("first_restart", 0)),
        elastic=Elastic(int(elastic["min_np"]), elastic.get("max_np")) if elastic else None,
        hang_after_s=float(data.get("hang_after_s", HANG_AFTER_S)),
        on_hang=str(data.get("on_hang", "wait")),
        rules=tuple(Rule(str(rule["pattern"]), str(rule["then"])) for rule in data.get("rules", ())),
    )
