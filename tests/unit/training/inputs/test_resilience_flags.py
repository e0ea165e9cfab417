"""What a job is to endure, by its flags."""

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.protocol.resilience import Elastic, Resilience, Rule
from hvdocker.training.inputs.resilience_flags import ResilienceFlags, resilience_of


@pytest.mark.parametrize(
    ("flags", "np", "resilience"),
    [
        ({}, None, Resilience()),
        ({"min_np": 2}, None, Resilience(elastic=Elastic(2))),
        ({"min_np": 2, "max_np": 8}, 4, Resilience(elastic=Elastic(2, 8))),
        ({"min_np": 4, "max_np": 4}, 4, Resilience(elastic=Elastic(4, 4))),
        ({"restarts": 3}, 4, Resilience(restarts=3)),
        ({"hang_after": "90"}, None, Resilience(hang_after_s=90)),
        ({"hang_after": "90s", "on_hang": "kill"}, None, Resilience(hang_after_s=90, on_hang="kill")),
        ({"hang_after": "2h"}, None, Resilience(hang_after_s=7200)),
        ({"hang_after": "0"}, None, Resilience(hang_after_s=0)),
        ({"on_hang": "restart"}, None, Resilience(restarts=1, on_hang="restart")),
        ({"on_hang": "restart", "restarts": 3}, None, Resilience(restarts=3, on_hang="restart")),
    ],
)
def test_flags_that_can_be_meant(flags: dict[str, object], np: int | None, resilience: Resilience) -> None:
    assert resilience_of(ResilienceFlags(**flags), np) == resilience


def test_rules_are_the_inventorys() -> None:
    rules = [Rule("ECC", "drop")]
    assert resilience_of(ResilienceFlags(), None, rules=rules) == Resilience(rules=tuple(rules))


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ({"max_np": 2}, "--max-np goes with --min-np"),
        ({"min_np": 0}, "--min-np should be at least 1, got 0"),
        ({"min_np": 3, "max_np": 2}, "--max-np 2 is less than --min-np 3"),
        ({"min_np": 5}, "-np 4 is less than --min-np 5"),
        ({"min_np": 1, "max_np": 3}, "-np 4 is more than --max-np 3"),
        ({"restarts": -1}, "--restarts should be 0 or more, got -1"),
        ({"restarts": 0, "on_hang": "restart"}, "exclude each other"),
        ({"on_hang": "panic"}, "--on-hang should be wait, kill, restart, got 'panic'"),
        ({"hang_after": "soon"}, "--hang-after should be a time such as 90s, 10m or 2h, got 'soon'"),
        ({"hang_after": "-5"}, "--hang-after should be a time"),
        ({"hang_after": "0", "on_hang": "kill"}, "--on-hang kill needs a --hang-after"),
    ],
)
def test_flags_that_cannot_be_meant(flags: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageProblem, match=problem):
        resilience_of(ResilienceFlags(**flags), 4)


def test_an_elastic_job_moves() -> None:
    with pytest.raises(UsageProblem, match="-H and --min-np exclude each other") as caught:
        resilience_of(ResilienceFlags(min_np=1), None, "a:1,b:1")
    assert caught.value.fix == "name the hosts that may be used: --include a,b"
