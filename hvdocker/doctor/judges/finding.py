"""Short constructors for findings: one for each mark (GOOD, WARN, BAD, UNKNOWN), and one for an error. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hvdocker.doctor.report import Finding, Mark
from hvdocker.errors import HostUnreachable, HvdockerError


def good(check: str, shown: str) -> Finding:
    return Finding(check, Mark.GOOD, shown)


def warn(
    check: str, shown: str, evidence: Sequence[str] = (), command: str | None = None, fix: str | None = None
) -> Finding:
    return Finding(check, Mark.WARN, shown, tuple(evidence), command, fix)


def bad(
    check: str, shown: str, evidence: Sequence[str] = (), command: str | None = None, fix: str | None = None
) -> Finding:
    return Finding(check, Mark.BAD, shown, tuple(evidence), command, fix)


def unknown(
    check: str, shown: str, evidence: Sequence[str] = (), command: str | None = None, fix: str | None = None
) -> Finding:
    return Finding(check, Mark.UNKNOWN, shown, tuple(evidence), command, fix)


def error_finding(check: str, error: HvdockerError, mark: Mark = Mark.BAD) -> Finding:
    """Return a finding with the text, evidence, command and fix of the error.

    `check` is the name of the check in the report, such as `engine`. The finding is BAD unless another `mark` is
    given."""
    is_unreachable = isinstance(error, HostUnreachable)
    return Finding(check, mark, error.what, error.lines, error.command, error.fix, is_unreachable)
