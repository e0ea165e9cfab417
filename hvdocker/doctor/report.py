"""What the doctor found: a mark for every check, with its evidence and the one command that mends it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from hvdocker.errors import ExitCode


class Mark(Enum):
    """`BAD` stops training, `WARN` will hurt, `UNKNOWN` could not be found out."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """What one check says. `shown` fits into a cell; `command` shows the evidence, `fix` mends it."""

    check: str
    mark: Mark
    shown: str
    evidence: tuple[str, ...] = ()
    command: str | None = None
    fix: str | None = None
    is_unreachable: bool = False


@dataclass(frozen=True)
class HostReport:
    host: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class PairReport:
    """From the containers of one host to those of another; how fast, where it was measured."""

    start: str
    end: str
    findings: tuple[Finding, ...]
    bits_per_s: float | None = None


@dataclass(frozen=True)
class Report:
    """`across` compares hosts: each finding is about all of them."""

    cluster: str
    hosts: tuple[HostReport, ...]
    pairs: tuple[PairReport, ...] = ()
    across: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        parts: list[HostReport | PairReport] = [*self.hosts, *self.pairs]
        return (*(finding for part in parts for finding in part.findings), *self.across)

    @property
    def exit_code(self) -> ExitCode:
        bad = [finding for finding in self.findings if finding.mark is Mark.BAD]
        if any(finding.is_unreachable for finding in bad):
            return ExitCode.UNREACHABLE
        return ExitCode.UNFIT if bad else ExitCode.OK

    def as_json(self) -> Mapping[str, object]:
        return {
            "cluster": self.cluster,
            "mark": worst_mark(finding.mark for finding in self.findings).value,
            "hosts": [{"host": one.host, "checks": _listed(one.findings)} for one in self.hosts],
            "pairs": [
                {"from": one.start, "to": one.end, "checks": _listed(one.findings)} for one in self.pairs
            ],
            "across": _listed(self.across),
        }


def worst_mark(marks: Iterable[Mark]) -> Mark:
    seen = set(marks)
    return next((mark for mark in (Mark.BAD, Mark.WARN, Mark.UNKNOWN) if mark in seen), Mark.GOOD)


def _listed(findings: Iterable[Finding]) -> list[Mapping[str, object]]:
    return [
        {
            "check": finding.check,
            "mark": finding.mark.value,
            "shown": finding.shown,
            "evidence": list(finding.evidence),
            "command": finding.command,
            "fix": finding.fix,
        }
        for finding in findings
    ]
