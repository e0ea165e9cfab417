"""Recorded probe outputs (fixtures/doctor), parsed as the doctor parses them."""

from pathlib import Path

from hvdocker.doctor.facts.facts import MachineSeen
from hvdocker.doctor.facts.parse_machine import read_machine
from hvdocker.doctor.report import Finding

FIXTURES = Path(__file__).parents[2] / "fixtures" / "doctor"


def machine(name: str) -> MachineSeen:
    seen = read_machine((FIXTURES / f"{name}.txt").read_text(encoding="utf-8"))
    assert seen is not None
    return seen


def marks(findings: list[Finding]) -> dict[str, str]:
    return {finding.check: finding.mark.value for finding in findings}
