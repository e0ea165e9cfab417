"""The command `run`: flags and output. training/run.py does the work."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NoReturn, Optional

import typer

from hvdocker.cli.completers import choice
from hvdocker.cli.flags.job import (
    ChecksumFlag,
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
from hvdocker.cli.flags.panels import FAILURES
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
    DryRunFlag,
    InventoryFlag,
    LockWaitFlag,
    QuietFlag,
    SkipHooksFlag,
)
from hvdocker.cli.job_words import script_and_flags
from hvdocker.cli.train import attach_viewer
from hvdocker.cli.verb_setup import env_and_progress, hooks_for_verb, plan_printer

if TYPE_CHECKING:
    from hvdocker.training.run import RunReport


def run(
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
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="WHEN",
            help="When the cluster stays: never, failed (the job failed) or always.",
            autocompletion=choice("never", "failed", "always"),
            rich_help_panel=FAILURES,
        ),
    ] = "never",
    inventory: InventoryFlag = None,
    lock_wait: LockWaitFlag = 60.0,
    accept_new_host_keys: AcceptFlag = False,
    force: JobForceFlag = False,
    dry_run: DryRunFlag = False,
    skip_hooks: SkipHooksFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Train on a cluster of its own: up, train, bring home and down in one.

      hvdocker run inventory.yaml train.py -np 6 -- --epochs 3
      hvdocker run -m package.module -np 6

    Whatever happens, all is given back, or it prints the command that does so.
    Ctrl-C (and SIGTERM) stops the job and brings its outputs home, Ctrl-C
    twice stops it at once. A lost link or a closed terminal leaves it
    running: `hvdocker gc` gives back what is left when it has ended.
    """
    script, passed = script_and_flags(ctx, script)
    from hvdocker.inventory.locate import locate
    from hvdocker.training.inputs.request import TrainRequest
    from hvdocker.training.inputs.resilience_flags import ResilienceFlags
    from hvdocker.training.report import Viewer
    from hvdocker.training.run import run as act

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
        is_dry_run=dry_run,
        accept_new_host_keys=accept_new_host_keys,
        lock_wait_s=lock_wait,
        is_forced=force,
    )
    with env_and_progress(quiet) as (env, progress), _sigterm_as_ctrl_c():
        viewer = Viewer(plan=plan_printer(progress, dry_run))
        viewer.explained = explanation_printer(progress, explain)
        attach_viewer(viewer, progress, quiet)
        located = locate(env, inventory)
        hooks = hooks_for_verb(env, progress, located, "run", skip_hooks or dry_run)
        with hooks.on_failure():
            report = act(env, located, request, keep, viewer, hooks=hooks)
        progress.pause()
        with hooks.for_cluster(report.located).with_job(report.job, report.hosts).on_failure():
            _finish(report, quiet)


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C while the block runs. So `run` still removes its cluster from the hosts."""

    def interrupt(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _finish(report: RunReport, quiet: bool) -> None:
    from hvdocker.console.errors import show_error
    from hvdocker.console.style import err, out
    from hvdocker.console.views.run import show_end, show_planned
    from hvdocker.training.run import final_error

    if report.planned:
        show_planned(out(), report, report.planned)
        return
    show_end(err(), report, quiet)
    if report.error and report.cleanup_error:
        show_error(err(), report.cleanup_error)
    if error := final_error(report):
        raise error
