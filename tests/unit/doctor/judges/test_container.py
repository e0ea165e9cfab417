"""What a container of the image sees, and what is wrong with it."""

from dataclasses import replace

import pytest

from hvdocker.doctor.facts.facts import InsideSeen, TrialResult
from hvdocker.doctor.judges.container import judge_container
from hvdocker.doctor.report import Finding
from tests.unit.doctor.judges.machine_fixtures import machine

ROOMY = InsideSeen({"python": "3.11.2"}, None, 4 << 30, None, 65536)


def judged(inside: InsideSeen | None, facts: str = "plain", **changes: object) -> dict[str, Finding]:
    trial = replace(TrialResult("x:y", inside), **changes)  # type: ignore[arg-type]  # fields of Trial
    return {finding.check: finding for finding in judge_container(trial, machine(facts))}


def test_a_container_with_all_that_it_needs() -> None:
    found = judged(ROOMY)
    assert {check: finding.mark.value for check, finding in found.items()} == dict.fromkeys(
        ("container", "shm", "memlock", "open-files"), "good"
    )
    assert (found["memlock"].shown, found["shm"].shown) == ("unlimited", "4.0 GB")


@pytest.mark.parametrize(
    ("changes", "facts", "check", "shown", "fix"),
    [
        ({"shm_bytes": 64 << 20}, "plain", "shm", "only 64 MB", "`shm: 1GB`"),
        ({"shm_bytes": None}, "plain", "shm", "only 0 B", "`shm: 1GB`"),
        ({"memlock_bytes": 1 << 16}, "a100-mig", "memlock", "only 64 KB", "memlock"),
        ({"memlock_bytes": 1 << 16}, "infiniband", "memlock", "only 64 KB", "memlock"),
        ({"open_files": 1024}, "plain", "open-files", "at most 1024", "nofile"),
    ],
)
def test_limits_that_hurt(changes: dict[str, object], facts: str, check: str, shown: str, fix: str) -> None:
    found = judged(replace(ROOMY, **changes), facts)  # type: ignore[arg-type]  # fields of InsideSeen
    assert {name for name, one in found.items() if one.mark.value != "good"} == {check}
    finding = found[check]
    assert (finding.mark.value, finding.shown) == ("warn", shown)
    assert finding.evidence and finding.command and fix in (finding.fix or "")


def test_nobody_without_gpus_misses_pinned_memory() -> None:
    assert judged(replace(ROOMY, memlock_bytes=1 << 16))["memlock"].mark.value == "good"
    assert judged(replace(ROOMY, memlock_bytes=1 << 16), "infiniband-down")["memlock"].mark.value == "good"


@pytest.mark.parametrize("said", ["no space left on device", None])
def test_a_container_that_does_not_start(said: str | None) -> None:
    found = judged(None, error=said)
    assert list(found) == ["container"] and found["container"].mark.value == "bad"
    assert found["container"].evidence == (said or "it said nothing",)
    assert found["container"].command == "docker run --rm --network none --entrypoint true x:y"
    assert ("df -h" if said else "restart docker") in (found["container"].fix or "")


def test_another_image_says_nothing_of_this_one() -> None:
    assert judged(ROOMY, is_substitute=True) == {}
    assert list(judge_container(None, machine("plain"))) == []
