"""Troubles in detail: what, where, the evidence, the command that shows it, the way out. Equal ones once."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from hvdocker.model.report import Finding, Mark, Report

WORDS = {Mark.GOOD: "ok", Mark.WARN: "warn", Mark.BAD: "BAD", Mark.UNKNOWN: "?"}
STYLES = {Mark.GOOD: "good", Mark.WARN: "yellow", Mark.BAD: "what", Mark.UNKNOWN: "quiet"}
MOST_NAMED = 8
_ORDER = (Mark.BAD, Mark.WARN, Mark.UNKNOWN)
_INDENT = "      "


def mark_text(mark: Mark) -> Text:
    return Text(WORDS[mark], style=STYLES[mark])


def show_troubles(console: Console, report: Report) -> None:
    groups: dict[Finding, list[str]] = {}
    for where, finding in _told(report):
        if finding.mark is not Mark.GOOD:
            groups.setdefault(finding, []).append(where)
    for mark in _ORDER:
        for finding, places in groups.items():
            if finding.mark is mark:
                console.print()
                _show(console, finding, places)


def _told(report: Report) -> Iterator[tuple[str, Finding]]:
    for host in report.hosts:
        yield from ((host.host, finding) for finding in host.findings)
    for pair in report.pairs:
        yield from ((f"{pair.start} → {pair.end}", finding) for finding in pair.findings)
    yield from (("all hosts", finding) for finding in report.across)


def _show(console: Console, finding: Finding, where: list[str]) -> None:
    headline = Text(f"{WORDS[finding.mark]:<6}", style=STYLES[finding.mark])
    headline.append(f"{name_all(where)}: ", style="bold")
    headline.append(f"{finding.check}: ", style="quiet")
    headline.append(finding.shown, style="default")
    console.print(headline)
    for line in finding.evidence:
        console.print(Text(f"{_INDENT}  {line}", style="quiet"))
    if finding.command:
        console.print(Text(f"{_INDENT}$ {finding.command}", style="command"))
    if finding.fix:
        console.print(Text(f"{_INDENT}→ {finding.fix}", style="fix"))


def name_all(where: list[str]) -> str:
    shown = ", ".join(where[:MOST_NAMED])
    return shown if len(where) <= MOST_NAMED else f"{shown} and {len(where) - MOST_NAMED} more"
