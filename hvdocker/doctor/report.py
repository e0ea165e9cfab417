"""The doctor's report: for each check a mark (such as GOOD or BAD), the evidence, and a fix for a problem. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from hvdocker.errors import ExitCode


class Mark(Enum):
    """How bad a finding is: `BAD` stops training, `WARN` slows it down or may break it, `GOOD` is no problem.

    `UNKNOWN` means that the check gave no result."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """The result of one check. `check` is the name of the check, such as `engine`.

    `shown` is short enough for a table cell, and `evidence` has the lines that explain it. `command` lets the user see
    the evidence. `fix` is the command or advice that solves the problem. `is_unreachable` means that the host could not
    be reached, which has its own exit code."""

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
    """The findings about what containers on host `start` can reach on host `end`.

    `bits_per_s` is the measured bandwidth. It is None if it was not measured: only `doctor --deep` measures."""

    start: str
    end: str
    findings: tuple[Finding, ...]
    bits_per_s: float | None = None


@dataclass(frozen=True)
class DoctorReport:
    """All findings of one `hvdocker doctor`.

    `hosts` has the findings about single hosts, `pairs` those about connections between two hosts. `across` has those
    that compare all hosts with each other."""

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
        """The exit code of `doctor`: OK if no finding is BAD, otherwise UNFIT.

        If a host is unreachable the code is UNREACHABLE, even if other hosts are unfit."""
        bad = [finding for finding in self.findings if finding.mark is Mark.BAD]
        if any(finding.is_unreachable for finding in bad):
            return ExitCode.UNREACHABLE
        return ExitCode.UNFIT if bad else ExitCode.OK

    def as_json(self) -> Mapping[str, object]:
        """Return what `doctor --json` prints: the findings by host and pair, and under `mark` the worst mark of all."""
        return {
            "cluster": self.cluster,
            "mark": worst_mark(finding.mark for finding in self.findings).value,
            "hosts": [{"host": one.host, "checks": _listed(one.findings)} for one in self.hosts],
            "pairs": [{"from": one.start, "to": one.end, "checks": _listed(one.findings)} for one in self.pairs],
            "across": _listed(self.across),
        }


def worst_mark(marks: Iterable[Mark]) -> Mark:
    """Return the worst of the marks: BAD, else WARN, else UNKNOWN, else GOOD."""
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
