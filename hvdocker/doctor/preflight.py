"""The doctor's cheap checks, before something is made: what is bad stops it in the doctor's own words."""

from __future__ import annotations

from dataclasses import replace

from hvdocker.doctor.doctor import DoctorOptions, doctor
from hvdocker.doctor.report import Finding, Mark, Report
from hvdocker.env import Env
from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError, raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.placement.slots import SlotRequest


def check_hosts(
    env: Env, located: Located, accept_new_host_keys: bool, request: SlotRequest | None
) -> SlotRequest | None:
    """Who wants some slots only (`request`) does without the hosts that are not fit, unless they were named:
    returns the request without them."""
    report = doctor(env, located, DoctorOptions(accept_new_host_keys, is_cheap=True))
    errors = bad_news(report)
    spared = _spared(located, request, errors)
    raise_all("some hosts are not fit to train", [one for one in errors if one.host not in spared])
    for error in errors:
        env.listener(Event("note", f"left out: {error.what}", error.host))
    for host, finding in _found(report, Mark.WARN):
        if host not in spared:
            env.listener(Event("note", f"{finding.check}: {finding.shown}", host))
    return replace(request, exclude=(*request.exclude, *sorted(spared))) if request else None


def _spared(located: Located, request: SlotRequest | None, errors: list[HvdockerError]) -> set[str]:
    """Not where they are all that there is: then their errors say more than that slots are missing."""
    if request is None:
        return set()
    named = {*request.include, *(share.host for share in request.exact)}
    bad = {error.host for error in errors if error.host} - named
    usable = {host.name for host in located.inventory.hosts} - set(request.exclude)
    return bad if usable - bad else set()


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
