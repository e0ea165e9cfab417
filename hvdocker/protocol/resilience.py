"""What a job does when something goes wrong: how often it is run again, on how few slots it goes on, when its
silence is a hang, and which lines of its output mean more than they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HANG_AFTER_S = 600.0
ON_HANG = ("wait", "kill", "restart")
# What a log rule does: the host that said it takes no further part, or the job is not run again.
RULE_THEN = ("drop", "stop")


@dataclass(frozen=True)
class Elastic:
    """Horovod Elastic: the job goes on with `min_np` ranks or more, and never has more than `max_np`."""

    min_np: int
    max_np: int | None = None

    @staticmethod
    def read(label: str) -> Elastic | None:
        """`min:max`; max is empty where there is no bound. None where it says nothing of the kind."""
        fewest, _, most = label.partition(":")
        if not label.isascii() or not fewest.isdecimal() or (most and not most.isdecimal()):
            return None
        return Elastic(int(fewest), int(most) if most else None)


@dataclass(frozen=True)
class Rule:
    """A regular expression over the lines of ranks, and what follows from a match."""

    pattern: str
    then: str


@dataclass(frozen=True)
class Resilience:
    """`restarts` are those that are left; `first_restart` is how many there were before this master."""

    restarts: int = 0
    first_restart: int = 0
    elastic: Elastic | None = None
    hang_after_s: float = HANG_AFTER_S
    on_hang: str = "wait"
    rules: tuple[Rule, ...] = ()

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
