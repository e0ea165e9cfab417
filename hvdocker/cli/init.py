"""The command `init`: flags, questions and output. inventory/init.py does the work."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hvdocker.cli.flags.verb import AcceptFlag, QuietFlag, refuse_rest
from hvdocker.cli.verb_setup import env_and_progress

if TYPE_CHECKING:
    from hvdocker.inventory.init import SshConfigHost


def init(
    ctx: typer.Context,
    file: Annotated[
        Optional[Path],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(help="The file to write. Default: inventory.yaml", show_default=False),
    ] = None,
    hosts: Annotated[
        str, typer.Option("--hosts", metavar="A,B", help="These hosts: a,user@b", show_default=False)
    ] = "",
    source: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option(
            "--from",
            metavar="FILE",
            help="The hosts of a hostfile (a slots=4), of an Ansible inventory or of an ssh config.",
            show_default=False,
        ),
    ] = None,
    all_ssh_hosts: Annotated[
        bool, typer.Option("--all-ssh-hosts", metavar="", help="All hosts that ~/.ssh/config names.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", metavar="", help="Write over a file that is there.")] = False,
    no_doctor: Annotated[bool, typer.Option("--no-doctor", metavar="", help="Do not look at the hosts.")] = False,
    accept_new_host_keys: AcceptFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Write a commented inventory, with hosts from ~/.ssh/config.

      hvdocker init
      hvdocker init --hosts gpu-a,ubuntu@10.0.0.12
      hvdocker init --from hostfile

    On a terminal it shows the hosts and asks which. What ~/.ssh/config says
    of them is not repeated in the file: hvdocker reads it itself. Then the
    hosts are looked at, and the exit code is the doctor's.
    """
    refuse_rest(ctx)
    from hvdocker.console.style import err, out
    from hvdocker.console.views.init import show_notes, show_written, written_message
    from hvdocker.errors import UsageProblem
    from hvdocker.inventory.init import DEFAULT_FILE, InitRequest
    from hvdocker.inventory.init import init as run

    if hosts and not hosts.replace(",", " ").strip():
        raise UsageProblem("--hosts names no host", fix="write at least one, as in --hosts gpu-a,ubuntu@gpu-b")
    named = tuple(dict.fromkeys(host.strip() for host in hosts.split(",") if host.strip()))
    request = InitRequest(file or DEFAULT_FILE, named, all_ssh_hosts, force, source)
    with env_and_progress(quiet) as (env, progress):

        def choose(offers: Sequence[SshConfigHost]) -> list[str]:
            progress.pause()
            return _ask_for_hosts(offers)

        report = run(env, request, choose if env.is_interactive else None)
    out().print(written_message(report))
    show_notes(err(), report)
    if not quiet:
        show_written(err(), report)
    if not report.hosts:
        return
    if not no_doctor:
        from hvdocker.cli.doctor import run_and_show
        from hvdocker.doctor.doctor import DoctorOptions

        run_and_show(report.path, DoctorOptions(accept_new_host_keys), quiet=quiet)
    if not quiet:
        path = report.path.relative_to(env.cwd) if report.path.is_relative_to(env.cwd) else report.path
        words = ("hvdocker", "doctor" if no_doctor else "up", str(path))
        err().print(f"next: {shlex.join(words)}", style="quiet", markup=False)


def _ask_for_hosts(offers: Sequence[SshConfigHost]) -> list[str]:
    """Show the hosts of ~/.ssh/config (`offers`) and ask the user which of them to use, until the answer is valid.

    Return the names of the chosen hosts. An empty answer gives none."""
    from hvdocker.console.style import err
    from hvdocker.console.views.init import hosts_question, show_offers
    from hvdocker.errors import Interrupted, UsageProblem
    from hvdocker.inventory.init import parse_host_choice

    show_offers(err(), offers)
    while True:
        try:
            return parse_host_choice(
                typer.prompt(hosts_question(offers), default="", show_default=False, err=True), offers
            )
        except typer.Abort:
            raise Interrupted("nothing was written") from None
        except UsageProblem as problem:
            for line in (problem.what, *problem.lines):
                err().print(f"  {line}")
