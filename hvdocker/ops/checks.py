"""The doctor's cheap checks, before something is made: what is bad stops it in the doctor's own words."""

from __future__ import annotations

from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError, raise_together
from hvdocker.model.event import Event
from hvdocker.model.report import Finding, Mark, Report
from hvdocker.ops.doctor import DoctorOptions, doctor
from hvdocker.ops.env import Env
from hvdocker.ops.locate import Located
from hvdocker.ops.train import TrainRequest


def check_hosts(env: Env, located: Located, request: TrainRequest) -> None:
    report = doctor(env, located, DoctorOptions(request.accept_new_host_keys, is_cheap=True))
    raise_together("some hosts are not fit to train", bad_news(report))
    for host, finding in _found(report, Mark.WARN):
        env.listener(Event("note", f"{finding.check}: {finding.shown}", host))


def bad_news(report: Report) -> list[HvdockerError]:
    return [_error(host, finding) for host, finding in _found(report, Mark.BAD)]


def _found(report: Report, mark: Mark) -> list[tuple[str | None, Finding]]:
    found: list[tuple[str | None, Finding]] = [
        (one.host, finding) for one in report.hosts for finding in one.findings if finding.mark is mark
    ]
    return found + [(None, finding) for finding in report.across if finding.mark is mark]


def _error(host: str | None, finding: Finding) -> HvdockerError:
    kind = HostUnreachable if finding.is_unreachable else HostUnfit
    return kind(
        f"{finding.check}: {finding.shown}",
        host=host,
        command=finding.command,
        lines=finding.evidence,
        fix=finding.fix,
    )
