"""Shows the report of `doctor`: a row per host, a matrix of the connections between hosts, then every problem with its
fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker.console.narrow_table import Row, narrow_table
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
# The cell of a group without a finding.
_NOTHING = "·"
_GROUP_OF = {check: group for group, checks in GROUPS.items() for check in checks}


def show_report(console: Console, report: DoctorReport, is_verbose: bool = False) -> None:
    """Print the report of `doctor`.

    `is_verbose` adds a table of all findings, including the good ones. With more than MOST_HOSTS hosts this table
    leaves out the findings about pairs of hosts."""
    console.print(Text.assemble(("cluster ", "quiet"), (report.cluster, "bold")))
    _show_hosts(console, report.hosts)
    if report.pairs:
        console.print()
        show_matrix(console, report.pairs)
    if is_verbose:
        console.print()
        console.print(_every_finding(report, console.width))
    show_problems(console, report)
    console.print()
    console.print(_verdict(report))


def _show_hosts(console: Console, hosts: Sequence[HostReport]) -> None:
    """Print a row per host. On a narrow terminal, columns without a problem are only named below."""
    rows: list[Row] = [
        {"host": Text(host.host, style="bold"), **{name: _cell(host.findings, name) for name in GROUPS}}
        for host in hosts
    ]
    good = [name for name in GROUPS if {str(row[name]) for row in rows} <= {MARK_WORDS[Mark.GOOD], _NOTHING}]
    widths = [max(len(name), *(cell_len(str(row[name])) for row in rows)) for name in rows[0]]
    gap = 2 if sum(widths) + 2 * len(widths) <= console.width else 1
    table = narrow_table(rows, console.width, left_out_first=good, gap=gap)
    console.print(table)
    shown = [str(column.header) for column in table.columns]
    if missing := [name for name in good if name not in shown]:
        console.print(Text(f"no problem on any host: {', '.join(missing)}", style="quiet"))


def _cell(findings: Iterable[Finding], group: str) -> Text:
    marks = [finding.mark for finding in findings if _GROUP_OF.get(finding.check, "net") == group]
    return mark_text(worst_mark(marks)) if marks else Text(_NOTHING, style="quiet")


def _every_finding(report: DoctorReport, width: int) -> Table:
    everything = [(one.host, one.findings) for one in report.hosts]
    if len(report.hosts) <= MOST_HOSTS:
        everything += [(f"{one.start} → {one.end}", one.findings) for one in report.pairs]
    rows: list[Row] = [
        {
            "host": Text(who if position == 0 else "", style="bold"),
            "check": finding.check,
            "": mark_text(finding.mark),
            "found": finding.shown,
        }
        for who, findings in (*everything, ("all hosts", report.across))
        for position, finding in enumerate(findings)
    ]
    return narrow_table(rows, width, wrapped=("found",)) if rows else Table(box=None)


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
