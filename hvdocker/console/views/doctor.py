"""Shows the report of `doctor`: a row per host, a matrix of the connections between hosts, then every problem with its
fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.console.views.doctor_findings import MARK_WORDS, mark_text, show_problems
from hvdocker.console.views.doctor_matrix import MOST_HOSTS, show_matrix
from hvdocker.doctor.report import DoctorReport, Finding, HostReport, Mark, worst_mark
from hvdocker.units import pluralize

# The table's columns, and the checks that each contains. A check that is not listed goes to `net`.
GROUPS = {
    "ssh": ("resolves", "answers", "hostkey", "login"),
    "engine": ("engine", "socket", "storage", "cgroup", "selinux", "apparmor", "container", "unseen"),
    "machine": ("memory", "cpu", "architecture"),
    "disk": ("images-disk", "home-disk", "tmp-disk", "mount-disk", "mounts"),
    "clock": ("clock",),
    "gpu": ("gpus", "gpu-users", "toolkit", "cuda"),
    "limits": ("shm", "memlock", "open-files"),
    "port": ("port",),
    "image": ("image", "worker"),
    "code": ("code",),
    "net": ("address", "name", "network", "infiniband"),
    "left": ("leftovers", "lock"),
}
_GROUP_OF = {check: group for group, checks in GROUPS.items() for check in checks}


def show_report(console: Console, report: DoctorReport, is_verbose: bool = False) -> None:
    """Print the report of `doctor`.

    `is_verbose` adds a table of all findings, including the good ones. With more than MOST_HOSTS hosts this table
    leaves out the findings about pairs of hosts."""
    console.print(Text.assemble(("cluster ", "quiet"), (report.cluster, "bold")))
    console.print(_hosts_table(report.hosts, console.width))
    if report.pairs:
        console.print()
        show_matrix(console, report.pairs)
    if is_verbose:
        console.print()
        console.print(_every_finding(report))
    show_problems(console, report)
    console.print()
    console.print(_verdict(report))


def _hosts_table(hosts: Sequence[HostReport], width: int) -> Table:
    longest = max(len("host"), *(len(host.host) for host in hosts))
    needed = longest + sum(len(name) + 2 for name in GROUPS)
    table = Table(box=None, pad_edge=False, header_style="quiet", padding=(0, 2 if needed <= width else 1, 0, 0))
    table.add_column("host", style="bold", no_wrap=True)
    for name in GROUPS:
        table.add_column(name, no_wrap=True)
    for host in hosts:
        table.add_row(host.host, *(_cell(host.findings, group) for group in GROUPS))
    return table


def _cell(findings: Iterable[Finding], group: str) -> Text:
    marks = [finding.mark for finding in findings if _GROUP_OF.get(finding.check, "net") == group]
    return mark_text(worst_mark(marks)) if marks else Text("·", style="quiet")


def _every_finding(report: DoctorReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("host", "check", "", "found"):
        table.add_column(column)
    everything = [(one.host, one.findings) for one in report.hosts]
    if len(report.hosts) <= MOST_HOSTS:
        everything += [(f"{one.start} → {one.end}", one.findings) for one in report.pairs]
    for who, findings in (*everything, ("all hosts", report.across)):
        for position, finding in enumerate(findings):
            name = Text(who, style="bold") if position == 0 else Text("")
            table.add_row(name, finding.check, mark_text(finding.mark), Text(finding.shown))
    return table


def _verdict(report: DoctorReport) -> Text:
    bad = [host.host for host in report.hosts if _is_bad(host.findings)]
    total = len(report.hosts)
    if bad:
        verb = "is" if len(bad) == 1 else "are"
        return Text(f"{len(bad)} of {pluralize(total, 'host')} {verb} not fit to train: {', '.join(bad)}", "what")
    if _is_bad(report.findings):
        return Text(f"{pluralize(total, 'host')} would do, but not together: see {MARK_WORDS[Mark.BAD]} above", "what")
    warnings = sum(finding.mark is Mark.WARN for finding in report.findings)
    unknown = any(finding.mark is Mark.UNKNOWN for finding in report.findings)
    hosts = f"{pluralize(total, 'host')} {'is' if total == 1 else 'are'} fit to train"
    hosts += f", with {pluralize(warnings, 'warning')}" if warnings else ""
    return Text(hosts + (f", as far as could be seen (see {MARK_WORDS[Mark.UNKNOWN]})" if unknown else ""), "good")


def _is_bad(findings: Iterable[Finding]) -> bool:
    return any(finding.mark is Mark.BAD for finding in findings)
