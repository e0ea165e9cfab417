"""Shows the problems of a doctor report in detail: what is wrong, where, the evidence, the command that shows it, and
the fix.

Equal problems are shown once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from hvdocker.doctor.report import DoctorReport, Finding, Mark

MARK_WORDS = {Mark.GOOD: "ok", Mark.WARN: "warn", Mark.BAD: "BAD", Mark.UNKNOWN: "?"}
MARK_STYLES = {Mark.GOOD: "good", Mark.WARN: "yellow", Mark.BAD: "what", Mark.UNKNOWN: "quiet"}
MOST_NAMED = 8
MOST_LINES = 12
_ORDER = (Mark.BAD, Mark.WARN, Mark.UNKNOWN)
_INDENT = "      "


def mark_text(mark: Mark) -> Text:
    return Text(MARK_WORDS[mark], style=MARK_STYLES[mark])


@dataclass
class _FindingGroup:
    """Equal findings of several hosts, pairs of hosts or checks, which are shown as one.

    `places` are hosts, pairs of hosts, or "all hosts". `checks` are the names of the checks. `evidence` has the lines
    of all findings of the group, without repetition."""

    finding: Finding
    places: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)

    def add(self, place: str, finding: Finding) -> None:
        for value, known in ((place, self.places), (finding.check, self.checks)):
            if value not in known:
                known.append(value)
        self.evidence += [line for line in finding.evidence if line not in self.evidence]


def show_problems(console: Console, report: DoctorReport) -> None:
    """Print every finding that is not good, the worst first. Equal findings are printed once."""
    troubles = _grouped(report)
    for mark in _ORDER:
        for trouble in troubles:
            if trouble.finding.mark is mark:
                console.print()
                _show(console, trouble)


def _grouped(report: DoctorReport) -> list[_FindingGroup]:
    """Return the findings that are not good, in groups. Equal findings form a group.

    UNKNOWN findings that have a fix form a group if their short texts and fixes are the same, even if their checks and
    evidence differ."""
    groups: dict[object, _FindingGroup] = {}
    for where, finding in _all_findings(report):
        if finding.mark is Mark.GOOD:
            continue
        is_grey = finding.mark is Mark.UNKNOWN and finding.fix is not None
        key = (finding.shown, finding.fix) if is_grey else finding
        groups.setdefault(key, _FindingGroup(finding)).add(where, finding)
    return list(groups.values())


def _all_findings(report: DoctorReport) -> Iterator[tuple[str, Finding]]:
    for host in report.hosts:
        yield from ((host.host, finding) for finding in host.findings)
    away = {host.host for host in report.hosts if any(finding.is_unreachable for finding in host.findings)}
    for pair in report.pairs:
        if {pair.start, pair.end} & away:
            # The findings about the host itself already say that it is unreachable, and why.
            continue
        yield from ((f"{pair.start} → {pair.end}", finding) for finding in pair.findings)
    yield from (("all hosts", finding) for finding in report.across)


def _show(console: Console, trouble: _FindingGroup) -> None:
    finding = trouble.finding
    headline = Text(f"{MARK_WORDS[finding.mark]:<6}", style=MARK_STYLES[finding.mark])
    headline.append(f"{join_names(trouble.places)}: ", style="bold")
    headline.append(f"{', '.join(trouble.checks)}: ", style="quiet")
    headline.append(finding.shown, style="default")
    console.print(headline)
    for line in trouble.evidence[:MOST_LINES]:
        console.print(Text(f"{_INDENT}  {line}", style="quiet"))
    if len(trouble.evidence) > MOST_LINES:
        console.print(Text(f"{_INDENT}  and {len(trouble.evidence) - MOST_LINES} more", style="quiet"))
    if finding.command:
        console.print(Text(f"{_INDENT}$ {finding.command}", style="command"))
    if finding.fix:
        console.print(Text(f"{_INDENT}→ {finding.fix}", style="fix"))


def join_names(where: list[str]) -> str:
    """Return the names joined with commas, such as `a, b`.

    If there are more than MOST_NAMED names, the others are only counted: `a, b and 3 more`."""
    shown = ", ".join(where[:MOST_NAMED])
    return shown if len(where) <= MOST_NAMED else f"{shown} and {len(where) - MOST_NAMED} more"
