"""Shows what `image check` and `image ls` found."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hvdocker import names
from hvdocker.images.check_rules import ImageCheck
from hvdocker.images.image_list import ImageEntry, ImageList
from hvdocker.units import show_bytes, show_seconds


def show_image_check(console: Console, report: ImageCheck) -> None:
    if report.can_serve:
        console.print(Text.assemble((report.image, "bold"), (" can serve", "good")))
    else:
        console.print(Text.assemble((report.image, "bold"), (" cannot serve", "what")))
    for problem in report.problems:
        console.print(Text(f"  {problem}"))
    if report.fix:
        console.print(Text(f"  → {report.fix}"))
    if report.launchers:
        others = [name for name in report.launchers if name != report.launcher]
        also = f", also {', '.join(others)}" if others else ""
        console.print(Text(f"  launcher: {report.launcher}{also}"))
    found = ", ".join(f"{name} {version}" for name, version in report.frameworks.items())
    console.print(Text(f"  frameworks: {found or 'none'}"))
    if report.pythons:
        console.print(Text(f"  Python: {', '.join(report.pythons)}"))
    for note in report.notes:
        console.print(Text(f"  note: {note}", style="yellow"))


def show_images(console: Console, report: ImageList, now: float) -> None:
    table = Table(box=None, pad_edge=False, header_style="quiet")
    for column in ("image", "host", "id", "size", "age", "launcher", ""):
        table.add_column(column, justify="right" if column == "size" else "left")
    differing = report.differing
    shown = ""
    for entry in sorted(report.entries, key=lambda entry: entry.name):
        table.add_row(*_image_row(entry, entry.name != shown, report, (entry.host, entry.name) in differing, now))
        shown = entry.name
    console.print(table if report.entries else Text("no images of ours", style="quiet"))
    if report.lacking:
        console.print(Text(f"{report.cluster_image} is not on {', '.join(report.lacking)}", style="yellow"))
    for error in report.errors:
        console.print(Text(str(error), style="what"))


def _image_row(
    entry: ImageEntry, is_first: bool, report: ImageList, differs: bool, now: float
) -> tuple[str | Text, ...]:
    is_cluster = entry.name == report.cluster_image
    return (
        Text(entry.name if is_first else "", style="bold" if is_cluster else ""),
        entry.host,
        entry.id.removeprefix("sha256:")[:12],
        show_bytes(entry.size_bytes),
        show_seconds(max(0.0, now - entry.created)),
        entry.labels.get(names.LABEL_LAUNCHER, ""),
        Text("another build", style="yellow") if differs else "",
    )
