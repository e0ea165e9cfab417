"""Judges the connection to a host by its phases: name lookup, TCP port, host key, login. Pure.

The phases after the first failure get no finding, because nothing is known about them."""

from __future__ import annotations

from hvdocker.doctor.judges.finding import error_finding, good
from hvdocker.doctor.report import Finding, Mark
from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host

# In connection order: name lookup, TCP port, host key, login. The same words as HostUnreachable.stage.
STAGES = ("resolves", "answers", "hostkey", "login")


def judge_connection(host: Host, unreached: HvdockerError | None, login: str | None = None) -> list[Finding]:
    """Return a GOOD finding for every phase that passed, and a BAD finding for the phase that failed.

    The phases are name lookup, TCP port, host key and login. `unreached` is the error, None if the host was reached.
    `login` is the SSH user and key to show. A worker of a local cluster gets one GOOD finding, because it needs no
    connection."""
    if host.is_local:
        return [good("answers", "this machine")]
    if unreached is None:
        return [good(check, shown) for check, shown in zip(STAGES, _passed(host, login), strict=True)]
    stage = getattr(unreached, "stage", "") or "answers"
    passed = STAGES[: STAGES.index(stage)]
    shown = dict(zip(STAGES, _passed(host), strict=True))
    failure = error_finding(stage, unreached)
    if not isinstance(unreached, HostUnreachable):
        # A missing key or an unreadable known_hosts is a local error, but the host is still unreachable.
        failure = Finding(stage, Mark.BAD, failure.shown, failure.evidence, failure.command, failure.fix, True)
    return [*(good(check, shown[check]) for check in passed), failure]


def _passed(host: Host, login: str | None = None) -> tuple[str, str, str, str]:
    return host.host, f"port {host.ssh.port or 22}", "known", login or "accepted"
