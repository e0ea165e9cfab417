"""The command `train`: flags and output. training/train.py does the work.

`run` and `replay` use `attach_viewer` too, and `replay` also `finish_job`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from hvdocker.cli.flags.job import (
    ChecksumFlag,
    DetachFlag,
    EnvFlag,
    FailFastFlag,
    HangAfterFlag,
    JobForceFlag,
    LauncherFlag,
    MaxNpFlag,
    MinNpFlag,
    ModuleFlag,
    NoRequirementsFlag,
    NpFlag,
    OnHangFlag,
    PropagateExitFlag,
    RequirementsFlag,
    RestartsFlag,
    SecretFlag,
    StartTimeoutFlag,
    WorkdirFlag,
)
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
    InventoryFlag,
    LockWaitFlag,
    QuietFlag,
    ScriptFlag,
    SkipHooksFlag,
    check_script_flag,
)
from hvdocker.cli.job_words import script_and_flags
from hvdocker.cli.verb_setup import env_and_progress, hooks_for_verb, plan_printer

if TYPE_CHECKING:
    from hvdocker.console.progress import Progress
    from hvdocker.inventory.locate import Located
    from hvdocker.training.inputs.request import TrainRequest
    from hvdocker.training.report import Started, TrainReport, Viewer


def train(
    ctx: typer.Context,
    script: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Argument(help="The Python script; its own arguments go after --.", show_default=False),
    ] = None,
    np: NpFlag = None,
    min_np: MinNpFlag = None,
    max_np: MaxNpFlag = None,
    module: ModuleFlag = None,
    launcher: LauncherFlag = None,
    place: PlaceFlag = None,
    strategy: StrategyFlag = None,
    gpu: GpuFlag = None,
    include: IncludeFlag = None,
    exclude: ExcludeFlag = None,
    explain: ExplainFlag = False,
    workdir: WorkdirFlag = None,
    requirements: RequirementsFlag = None,
    no_requirements: NoRequirementsFlag = False,
    env_flags: EnvFlag = None,
    secret_flags: SecretFlag = None,
    start_timeout: StartTimeoutFlag = None,
    checksum: ChecksumFlag = False,
    restarts: RestartsFlag = None,
    hang_after: HangAfterFlag = "10m",
    on_hang: OnHangFlag = "wait",
    fail_fast: FailFastFlag = False,
    propagate_exit: PropagateExitFlag = False,
    detach: DetachFlag = False,
    queue: Annotated[
        bool,
        typer.Option(
            "--queue",
            metavar="",
            help="Wait for slots that others hold: first come, first served.",
            rich_help_panel=WHERE,
        ),
    ] = False,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    lock_wait: LockWaitFlag = 60.0,
    accept_new_host_keys: AcceptFlag = False,
    force: JobForceFlag = False,
    dry_run: DryRunFlag = False,
    as_script: ScriptFlag = False,
    skip_hooks: SkipHooksFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Train on the cluster: sync the code, run every rank, stream their output.

      hvdocker train train.py -np 2 -- --epochs 3
      hvdocker train -m package.module -np 4
      hvdocker train -np 2 -- any command

    Ctrl-C stops the job on every host. A lost connection or a closed terminal
    does not: `hvdocker logs -f` shows the output again. A lost connection is
    first retried for a minute. Flags of the launcher (--fusion-threshold-mb,
    --max-restarts, --mca, …) are passed on.
    """
    check_script_flag(as_script, dry_run)
    # If a flag of the launcher precedes the script, typer passes the flag as `script` and the script in `ctx.args`.
    script, passed = script_and_flags(ctx, script)
    from hvdocker.inventory.locate import locate
    from hvdocker.training.inputs.request import TrainRequest
    from hvdocker.training.inputs.resilience_flags import ResilienceFlags
    from hvdocker.training.report import Viewer
    from hvdocker.training.train import train as run
    from hvdocker.training.train_hooks import TrainHooks

    request = TrainRequest(
        script=script,
        module=module,
        rest=ctx.obj.rest or (),
        np=np,
        hosts=place,
        strategy=strategy,
        gpu=gpu,
        include=include,
        exclude=exclude,
        workdir=workdir,
        requirements=requirements,
        ignores_requirements=no_requirements,
        env=tuple(env_flags or ()),
        secrets=tuple(secret_flags or ()),
        start_timeout_s=start_timeout,
        tuning=passed,
        launcher=launcher,
        fails_fast=fail_fast,
        endurance=ResilienceFlags(min_np, max_np, restarts, hang_after, on_hang),
        propagates_exit=propagate_exit,
        checksum=checksum,
        is_detached=detach,
        is_queued=queue,
        is_dry_run=dry_run,
        accept_new_host_keys=accept_new_host_keys,
        lock_wait_s=lock_wait,
        is_forced=force,
    )
    with env_and_progress(quiet or as_script) as (env, progress):
        located = locate(env, inventory, cluster)
        viewer = Viewer(plan=plan_printer(progress, dry_run and not as_script))
        viewer.explained = explanation_printer(progress, explain)
        attach_viewer(viewer, progress, quiet)
        hooks = TrainHooks(hooks_for_verb(env, progress, located, "train", skip_hooks or dry_run))
        with hooks.around(viewer):
            report = run(env, located, request, viewer)
            progress.pause()
            finish_job(report, located, request, as_script, quiet)


def attach_viewer(viewer: Viewer, progress: Progress, quiet: bool) -> None:
    """Set the callbacks of the viewer, which show the job on the terminal.

    The viewer prints the ranks' output once the master runs. The progress display ends when the output begins. The
    viewer also tells the user when the job is being stopped. With `quiet`, the line that the job has started is left
    out."""
    from hvdocker.console import messages
    from hvdocker.console.style import out
    from hvdocker.console.views.job import JobView

    def started(info: Started) -> None:
        viewer.line = JobView(progress.output_screen(out()), info.placement)
        if not quiet:
            hosts = ", ".join(f"{share.host}:{share.slots}" for share in info.placement.shares)
            progress.print_line(messages.started(info.job, info.np, hosts), "quiet")

    viewer.started = started
    viewer.stopping = lambda: progress.print_line("stopping every rank on every host (Ctrl-C again: at once)")


def finish_job(report: TrainReport, located: Located, request: TrainRequest, as_script: bool, quiet: bool) -> None:
    """Print the end of `train`: the plan as a script (`as_script`), the id of a detached job, or the summary of an
    ended job.

    With `quiet` the summary is left out. A dry run without `as_script` prints nothing. Raise JobFailed or JobStopped if
    the job did not succeed."""
    from hvdocker.console.style import err, out, write_script
    from hvdocker.console.views.job import show_summary
    from hvdocker.jobs.outcome import raise_unless_succeeded

    if as_script:
        from hvdocker.script.script import as_script as render

        write_script(render(report.plan, located.inventory, report.hosts))
        return
    if request.is_dry_run:
        return
    ended = report.ended(located.flag)
    if ended is None:
        out().print(report.job)
        err().print(f"watch it: hvdocker logs -f {report.job}{located.flag}", style="quiet")
        return
    if ended.end.record and not quiet:
        show_summary(err(), report.job, report.placement, ended.end.record, ended.restarts_before, report.np)
    raise_unless_succeeded(ended, request.propagates_exit)
    if not quiet:
        err().print(f"bring its outputs home: hvdocker fetch {report.job}{located.flag}", style="quiet")
