"""Shows the hosts of ~/.ssh/config among which the user of `init` chooses, and the result of `init`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from hvdocker.inventory.init import InitReport, SshConfigHost
from hvdocker.units import pluralize


def show_offers(console: Console, offers: Sequence[SshConfigHost]) -> None:
    if not offers:
        console.print("~/.ssh/config names no hosts; type them.")
        return
    width = max(len(offer.name) for offer in offers)
    console.print("hosts in ~/.ssh/config:")
    for number, offer in enumerate(offers, 1):
        console.print(f"{number:4}  {offer.name:{width}}  {offer.about}".rstrip())


def hosts_question(offers: Sequence[SshConfigHost]) -> str:
    return "which? (1,3-4, all, or names)" if offers else "hosts (a, user@b; none: fill them in later)"


def show_notes(console: Console, report: InitReport) -> None:
    """Print what of the file behind `--from` is not in the inventory."""
    for note in report.notes:
        console.print(f"note: {note}", markup=False)


def show_written(console: Console, report: InitReport) -> None:
    """Print what the user has to know after `init` wrote the inventory.

    This is which hosts were left out, whether .gitignore lacks .hvdocker/, and whether the inventory has no hosts
    yet."""
    if report.left_out:
        console.print(f"left out, no inventory can name them: {', '.join(report.left_out)}", style="quiet")
    if not report.ignores_state:
        console.print("git should not see what hvdocker keeps: echo .hvdocker/ >> .gitignore", style="quiet")
    if not report.hosts:
        console.print(f"fill in `hosts:` in {report.path}, it names none yet")


def written_message(report: InitReport) -> str:
    return f"wrote {report.path}: {pluralize(len(report.hosts), 'host')}"
