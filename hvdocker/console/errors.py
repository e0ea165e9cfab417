"""Formats the error that ends a verb: what failed, on which host, the evidence, and what to do next.

Views show errors of single hosts in their tables themselves."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hvdocker.console.sanitize import sanitized
from hvdocker.errors import HostErrors, HvdockerError


def show_error(console: Console, error: HvdockerError) -> None:
    """Print an error: what failed, on which host, the evidence and the fix.

    For an error that holds those of several hosts, equal errors are printed once, with the names of all their hosts."""
    if isinstance(error, HostErrors):
        console.print(_headline(error.what, None))
        for hosts, one in error.grouped():
            console.print(_headline(one.what, ", ".join(hosts), indent="  "))
            _details(console, one, "    ")
        _details(console, error, "  ")
        return
    console.print(_headline(error.what, error.host))
    _details(console, error, "  ")


def _headline(what: str, host: str | None, indent: str = "") -> Text:
    text = Text(indent + ("" if indent else "error: "), style="what")
    if host:
        text.append(f"{host}: ", style="bold")
    text.append(what, style="default")
    return text


def _details(console: Console, error: HvdockerError, indent: str) -> None:
    if error.command:
        console.print(Text(f"{indent}$ {error.command}", style="command"))
    for line in error.lines:
        # The console sanitizes too, but too late: rich drops the ends of some control sequences before that.
        console.print(Text(f"{indent}  {sanitized(line)}", style="quiet"))
    if error.fix:
        console.print(Text(f"{indent}→ {error.fix}", style="fix"))
