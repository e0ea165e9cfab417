"""The doctor's report: a mark for every check, with its evidence and the one command that fixes it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from hvdocker.errors import ExitCode


class Mark(Enum):
    """`BAD` stops training, `WARN` slows it or may break it, `UNKNOWN` could not be determined."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """The result of one check. `shown` is short enough for a table cell. `command` lets the user see the
    evidence; `fix` is the command or advice that solves the problem."""

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
    """What containers on host `start` can reach on host `end`. `bits_per_s` is None where it was not measured
    (only `--deep` measures)."""

    start: str
    end: str
    findings: tuple[Finding, ...]
    bits_per_s: float | None = None


@dataclass(frozen=True)
class DoctorReport:
    """All findings. Those in `across` compare the hosts with each other, so each concerns all of them."""

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
        """Only BAD findings change the exit code; an unreachable host outranks an unfit one."""
        bad = [finding for finding in self.findings if finding.mark is Mark.BAD]
        if any(finding.is_unreachable for finding in bad):
            return ExitCode.UNREACHABLE
        return ExitCode.UNFIT if bad else ExitCode.OK

    def as_json(self) -> Mapping[str, object]:
        """Return what `doctor --json` prints."""
        return {
            "cluster": self.cluster,
            "mark": worst_mark(finding.mark for finding in self.findings).value,
            "hosts": [{"host": one.host, "checks": _listed(one.findings)} for one in self.hosts],
            "pairs": [{"from": one.start, "to": one.end, "checks": _listed(one.findings)} for one in self.pairs],
            "across": _listed(self.across),
        }


def worst_mark(marks: Iterable[Mark]) -> Mark:
    """Return the first of BAD, WARN and UNKNOWN that occurs, else GOOD."""
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
