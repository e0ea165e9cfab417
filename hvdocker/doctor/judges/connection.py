"""The way to a host: its name, its port, its key, our key. Nothing is known beyond the first failure."""

from __future__ import annotations

from hvdocker.doctor.judges.finding import good, of_error
from hvdocker.doctor.report import Finding, Mark
from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host

# In the order in which a connection passes them; as in HostUnreachable.stage.
STAGES = ("resolves", "answers", "hostkey", "login")


def judge_reach(host: Host, unreached: HvdockerError | None, login: str | None = None) -> list[Finding]:
    """`login`: who got in, and by which key."""
    if host.is_local:
        return [good("answers", "this machine")]
    if unreached is None:
        return [good(check, shown) for check, shown in zip(STAGES, _passed(host, login), strict=True)]
    stage = getattr(unreached, "stage", "") or "answers"
    passed = STAGES[: STAGES.index(stage)]
    shown = dict(zip(STAGES, _passed(host), strict=True))
    failure = of_error(stage, unreached)
    if not isinstance(unreached, HostUnreachable):
        # A key that is not there, or a known_hosts that cannot be read: nobody gets in all the same.
        failure = Finding(
            stage, Mark.BAD, failure.shown, failure.evidence, failure.command, failure.fix, True
        )
    return [*(good(check, shown[check]) for check in passed), failure]


def _passed(host: Host, login: str | None = None) -> tuple[str, str, str, str]:
    return host.host, f"port {host.ssh.port or 22}", "known", login or "accepted"
