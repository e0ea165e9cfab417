"""The preflight of `hvdocker run`: the doctor's cheap checks before anything is created.

A BAD finding becomes an error with the finding's text, command and fix."""

from __future__ import annotations

from dataclasses import replace

from hvdocker.doctor.doctor import DoctorOptions, doctor
from hvdocker.doctor.report import DoctorReport, Finding, Mark
from hvdocker.env import Env
from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError, raise_all
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.placement.slots import SlotRequest


def run_preflight(
    env: Env, located: Located, accept_new_host_keys: bool, request: SlotRequest | None
) -> SlotRequest | None:
    """Raise HvdockerError if hosts are not fit to train. Warnings are sent as note events.

    Without a `request` (flags that choose slots), all hosts must be fit, and None is returned. With a `request`, unfit
    hosts that it does not name are left out, and the request is returned with these hosts added to `exclude`. If no
    usable host would be left, HvdockerError is raised."""
    report = doctor(env, located, DoctorOptions(accept_new_host_keys, is_cheap=True))
    errors = report_errors(report)
    spared = _hosts_to_leave_out(located, request, errors)
    raise_all("some hosts are not fit to train", [one for one in errors if one.host not in spared])
    for error in errors:
        env.listener(Event("note", f"left out: {error.what}", error.host))
    for host, finding in _findings_marked(report, Mark.WARN):
        if host not in spared:
            env.listener(Event("note", f"{finding.check}: {finding.shown}", host))
    # The user may have excluded an unfit host too.
    return replace(request, exclude=tuple(dict.fromkeys((*request.exclude, *sorted(spared))))) if request else None


def _hosts_to_leave_out(located: Located, request: SlotRequest | None, errors: list[HvdockerError]) -> set[str]:
    """Return the unfit hosts that the request can do without: those that it does not name.

    `errors` are the BAD findings of the preflight. Return an empty set if there is no request. Return it also if no
    usable host would be left, so that the hosts' own errors are raised: they explain more than "not enough slots"."""
    if request is None:
        return set()
    named = {*request.include, *(share.host for share in request.exact)}
    bad = {error.host for error in errors if error.host} - named
    usable = {host.name for host in located.inventory.hosts} - set(request.exclude)
    return bad if usable - bad else set()


def report_errors(report: DoctorReport) -> list[HvdockerError]:
    """Return every BAD finding of the report as an error, except findings about pairs of hosts.

    The preflight has no such findings, because the cheap checks try no pairs."""
    return [_error(host, finding) for host, finding in _findings_marked(report, Mark.BAD)]


def _findings_marked(report: DoctorReport, mark: Mark) -> list[tuple[str | None, Finding]]:
    found: list[tuple[str | None, Finding]] = [
        (one.host, finding) for one in report.hosts for finding in one.findings if finding.mark is mark
    ]
    return found + [(None, finding) for finding in report.across if finding.mark is mark]


def _error(host: str | None, finding: Finding) -> HvdockerError:
    kind = HostUnreachable if finding.is_unreachable else HostUnfit
    return kind(
        f"{finding.check}: {finding.shown}", host=host, command=finding.command, lines=finding.evidence, fix=finding.fix
    )
