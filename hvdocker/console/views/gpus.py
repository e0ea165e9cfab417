"""Shows every GPU as a row: model, memory, load, and who holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hvdocker.console.views.doctor_findings import MOST_NAMED
from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.placement.gpus import CpuSlots, GpuReport, HostGpus
from hvdocker.placement.leases import GpuUse
from hvdocker.units import MIB, pluralize, show_bytes

# On a terminal of at least this width, columns are two blanks apart, else one.
_WIDE = 100
_MOST_PROCESSES = 4
_COLUMNS = ("host", "gpu", "id", "model", "free", "of", "use", "°C", "state")
_RIGHT = ("gpu", "free", "of", "use", "°C")


class Show(Protocol):
    """A function that shows a report of the GPUs in place of the last report. `watching` yields such a function."""

    def __call__(self, report: GpuReport) -> None: ...


def show_gpus(console: Console, report: GpuReport) -> None:
    # Cells are folded at the terminal's width.
    console.print(gpus_view(report, console.width), soft_wrap=False)


@contextmanager
def watching(console: Console) -> Iterator[Show]:
    """Yield a function that shows a report in place of the previous report. The last report stays on the terminal."""
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        yield lambda report: live.update(gpus_view(report, console.width), refresh=True)


def gpus_view(report: GpuReport, width: int) -> Group:
    table = Table(box=None, pad_edge=False, header_style="quiet", padding=(0, 2 if width >= _WIDE else 1, 0, 0))
    for column in _COLUMNS:
        is_text = column in ("model", "state")
        table.add_column(column, justify="right" if column in _RIGHT else "left", no_wrap=not is_text, overflow="fold")
    for host in report.hosts:
        for position, row in enumerate(_rows(host, report.inventory.cluster)):
            table.add_row(Text(host.name if position == 0 else "", style="bold"), *row)
    return Group(table, *_errors(report), summary(report))


def _rows(host: HostGpus, cluster: str) -> Iterator[tuple[str | Text, ...]]:
    blank = ("", "", "", "", "", "", "")
    if host.error:
        state = "unreachable" if host.error.exit_code == 4 else "unfit"
        yield (*blank, Text(state, style="what"))
        return
    for use in host.uses:
        yield _gpu_row(host, use, cluster)
    if host.cpu_slots:
        yield ("", "", "no GPUs", "", "", "", "", _slots(host.cpu_slots))
    for note in host.notes:
        yield (*blank, Text(note, style="yellow"))
    if not host.uses and not host.cpu_slots and not host.notes:
        yield (*blank, Text("its GPUs stand above", style="quiet"))


def _gpu_row(host: HostGpus, use: GpuUse, cluster: str) -> tuple[str | Text, ...]:
    gpu = use.gpu
    return (
        str(gpu.index),
        short_id(gpu),
        gpu.model.removeprefix("NVIDIA "),
        _memory(gpu.free_mb),
        _memory(gpu.memory_mb),
        "?" if gpu.utilization is None else f"{gpu.utilization}%",
        "?" if gpu.temperature is None else str(gpu.temperature),
        _state(host, use, cluster),
    )


def short_id(gpu: GpuSeen) -> str:
    """Return the first part of the GPU's UUID.

    The UUID of an older MIG slice is the UUID of its card and two numbers. For such a slice the numbers are added."""
    card, *numbers = gpu.uuid.removeprefix("MIG-").removeprefix("GPU-").split("/")
    return "/".join((card.partition("-")[0], *numbers))


def _memory(mebibytes: int | None) -> str:
    return "?" if mebibytes is None else show_bytes(mebibytes * MIB)


def _state(host: HostGpus, use: GpuUse, cluster: str) -> Text:
    lines = [_verdict(use, cluster)]
    shown = use.gpu.processes[:_MOST_PROCESSES]
    lines += [Text(_process(host, one), "yellow" if one in use.foreign_processes else "quiet") for one in shown]
    more = len(use.gpu.processes) - len(shown)
    return Text("\n").join([*lines, *([Text(f"and {more} more", "quiet")] if more else [])])


def _verdict(use: GpuUse, cluster: str) -> Text:
    if use.is_free:
        return Text("free", style="good")
    if use.is_free_in(cluster):
        return Text(f"free in {cluster}", style="good")
    who = [str(lease) for lease in use.leases]
    if use.foreign_processes:
        who.append(", ".join(sorted({one.user or "an unknown user" for one in use.foreign_processes})))
    return Text(f"held by {' and '.join(who)}", style="yellow")


def _process(host: HostGpus, process: GpuProcess) -> str:
    container = host.container_of(process)
    where = f" in {container.job or container.cluster}" if container else ""
    used = "" if process.used_mb is None else f", {_memory(process.used_mb)}"
    if not process.pid:
        return f"processes that the driver does not name{used}"
    program = process.name.split(" ")[0].rsplit("/", 1)[-1] or "?"
    return f"{process.pid} {program} of {process.user or '?'}{where}{used}"


def _slots(slots: CpuSlots) -> Text:
    held = "".join(f", {number} held by {job}" for job, number in slots.held.items())
    return Text(f"{slots.free} of {pluralize(slots.total, 'slot')} free{held}", "good" if slots.free else "yellow")


def _errors(report: GpuReport) -> Iterator[Text]:
    """Yield lines that say why hosts could not be observed. Hosts with the same reason share a line."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for error in report.errors:
        reasons.setdefault((error.what, error.fix or ""), []).append(error.host or "?")
    for (what, fix), hosts in reasons.items():
        more = len(hosts) - MOST_NAMED
        who = ", ".join(hosts[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield Text.assemble((f"{who}: {what}", "what"))
        if fix:
            yield Text(f"  → {fix}", style="fix")


def summary(report: GpuReport) -> Text:
    """Return one line that counts the GPUs and CPU slots, those of them that are free, and the hosts about which
    nothing is known."""
    uses, cluster = report.uses, report.inventory.cluster
    with_gpus = sum(bool(host.uses) for host in report.hosts)
    free = _free(use.is_free for use in uses)
    parts = [f"{pluralize(len(uses), 'GPU')} on {pluralize(with_gpus, 'host')}, {free}"]
    inside = sum(use.is_free_in(cluster) for use in uses)
    if inside:
        parts.append(f"{inside} more in {cluster}")
    slots = [host.cpu_slots for host in report.hosts if host.cpu_slots]
    if slots:
        total, unused = sum(one.total for one in slots), sum(one.free for one in slots)
        parts.append(f"{pluralize(total, 'CPU slot')} on {pluralize(len(slots), 'host')}, {unused} free")
    if report.errors:
        parts.append(f"{pluralize(len(report.errors), 'host')} not known")
    return Text("; ".join(parts))


def _free(marks: Iterable[bool]) -> str:
    return f"{sum(marks)} free"
