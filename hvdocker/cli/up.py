"""The command `up`: flags and output. cluster/up.py does the work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hvdocker.cli.completers import choice, complete_images
from hvdocker.cli.flags.panels import WHERE
from hvdocker.cli.flags.placement import (
    ExcludeFlag,
    ExplainFlag,
    GpuFlag,
    IncludeFlag,
    PlaceFlag,
    StrategyFlag,
    explanation_printer,
)
from hvdocker.cli.flags.verb import (
    AcceptFlag,
    ClusterFlag,
    DryRunFlag,
    ForceFlag,
    InventoryFlag,
    LockWaitFlag,
    QuietFlag,
    ScriptFlag,
    SkipHooksFlag,
    check_script_flag,
    refuse_rest,
)
from hvdocker.cli.verb_setup import env_and_progress, hooks_for_verb, plan_printer

if TYPE_CHECKING:
    from hvdocker.env import Env
    from hvdocker.inventory.locate import Located


# Modules to import while the hosts answer, in the order in which they are needed after connecting.
_PRELOADS = (
    "hvdocker.cluster.look_and_plan",
    "hvdocker.cluster.find_unreachable",
    "hvdocker.cluster.plan.up",
    "hvdocker.cluster.port_conflict",
    "hvdocker.placement.link_speeds",
    "hvdocker.locks.lock",
    "hvdocker.locks.held_locks",
    "hvdocker.cluster.actions",
)


def up(
    ctx: typer.Context,
    hosts: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Option(
            "--hosts",
            metavar="A,B",
            help="Machines instead of a file: a,user@b",
            show_default=False,
            rich_help_panel=WHERE,
        ),
    ] = None,
    local: Annotated[
        Optional[int],  # noqa: UP045  # as above
        typer.Option(
            "--local",
            metavar="N",
            help="That many workers on this machine's own engine.",
            show_default=False,
            rich_help_panel=WHERE,
        ),
    ] = None,
    image: Annotated[
        str,
        typer.Option(
            "--image",
            metavar="IMAGE",
            help="This image, whatever the inventory says; it stays.",
            show_default=False,
            autocompletion=complete_images,
        ),
    ] = "",
    np: Annotated[
        Optional[int],  # noqa: UP045  # as above
        typer.Option(
            "-np",
            "--np",
            metavar="N",
            help="Only so many slots, where they are free. Default: every host, all that is free there.",
            show_default=False,
            rich_help_panel=WHERE,
        ),
    ] = None,
    place: PlaceFlag = None,
    strategy: StrategyFlag = None,
    gpu: GpuFlag = None,
    include: IncludeFlag = None,
    exclude: ExcludeFlag = None,
    explain: ExplainFlag = False,
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="WHEN",
            help="What a failed run leaves: never (undo it), failed or always.",
            autocompletion=choice("never", "failed", "always"),
        ),
    ] = "never",
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    lock_wait: LockWaitFlag = 0.0,
    accept_new_host_keys: AcceptFlag = False,
    force: ForceFlag = False,
    dry_run: DryRunFlag = False,
    script: ScriptFlag = False,
    skip_hooks: SkipHooksFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Bring the cluster up: image, keys and one worker on every host.

      hvdocker up inventory.yaml
      hvdocker up -np 4
      hvdocker up --hosts gpu-a,ubuntu@gpu-b

    Without -np it takes every GPU (or slot) that is free, until
    `hvdocker down`. With -np 4 it takes four, where they are free.

    A second run on a healthy cluster has nothing to do, and says so.
    A failed run names the host and undoes what it made.
    """
    refuse_rest(ctx)
    from hvdocker.cluster.up import UpOptions, check_keep
    from hvdocker.cluster.up import up as run
    from hvdocker.console import messages
    from hvdocker.console.style import err, out, write_script
    from hvdocker.errors import UsageProblem

    check_keep(keep)
    check_script_flag(script, dry_run)
    with env_and_progress(quiet or script, _PRELOADS) as (env, progress):
        located = _locate_or_generate(env, inventory, hosts, local, image, cluster)
        request = None
        if any(value is not None for value in (np, place, strategy, gpu, include, exclude)):
            # Imported only here: what it needs is otherwise imported while the hosts are being connected to.
            from hvdocker.placement.slot_flags import SlotFlags, slot_request

            request = slot_request(SlotFlags(np, place, strategy, gpu, include, exclude), located.inventory)
        elif explain:
            raise UsageProblem("--explain goes with -np: `up` alone takes every slot that is free")
        options = UpOptions(accept_new_host_keys, dry_run, keep, force, lock_wait, request)
        shower = plan_printer(progress, dry_run and not script)
        with hooks_for_verb(env, progress, located, "up", skip_hooks or dry_run).around("up") as end:
            report = run(env, located, options, shower, explanation_printer(progress, explain))
            end.code = report.exit_code
    if script:
        from hvdocker.script.script import as_script

        write_script(as_script(report.plan, located.inventory, report.hosts))
    elif report.plan.is_empty:
        out().print(messages.nothing_to_do(located.inventory.cluster, len(report.host_plans)))
    elif not dry_run:
        out().print(messages.cluster_up(located.inventory.cluster, len(report.host_plans), report.slots))
        if not quiet:
            err().print(f"next: hvdocker train train.py -np {report.ranks}{located.flag}", style="quiet")
    report.raise_errors()


def _locate_or_generate(
    env: Env, inventory: Path | None, hosts: str | None, local: int | None, image: str, cluster: str | None
) -> Located:
    """Return the inventory of the file `inventory`, or an inventory that is generated from `--hosts` or `--local`.

    If none of the three is given, return the current inventory. Raise UsageProblem if more than one is given. `image`
    is the value of `--image`, or empty. It becomes part of a generated inventory; with a file it applies instead of the
    image of the file. `cluster` is the value of `--cluster`."""
    from hvdocker.errors import UsageProblem
    from hvdocker.inventory.fields import MOST_LOCAL
    from hvdocker.inventory.locate import locate, with_image
    from hvdocker.inventory.state_folder import generate

    given = [inventory is not None, hosts is not None, local is not None]
    if sum(given) > 1:
        raise UsageProblem("an inventory, --hosts and --local exclude each other")
    if local is not None:
        if not 1 <= local <= MOST_LOCAL:
            raise UsageProblem(f"--local should be between 1 and {MOST_LOCAL}, got {local}")
        return generate(env, local=local, image=image or None, cluster=cluster)
    if hosts is not None:
        named = [host.strip() for host in hosts.split(",") if host.strip()]
        if not named:
            raise UsageProblem("--hosts names no host", fix="write at least one, as in --hosts gpu-a,ubuntu@gpu-b")
        if again := next((host for host in named if named.count(host) > 1), None):
            raise UsageProblem(f"--hosts names {again!r} more than once", fix="name each host once")
        return generate(env, hosts=named, image=image or None, cluster=cluster)
    return with_image(locate(env, inventory, cluster), image)
