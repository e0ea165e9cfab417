"""The command `replay`: flags and output. training/replay.py does the work."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from hvdocker.cli.flags.job import DetachFlag, EnvFlag, NamedJob, SecretFlag
from hvdocker.cli.flags.verb import (
    AcceptFlag,
    ClusterFlag,
    DryRunFlag,
    ForceFlag,
    InventoryFlag,
    LockWaitFlag,
    QuietFlag,
    SkipHooksFlag,
    refuse_rest,
)
from hvdocker.cli.train import attach_viewer, finish_job
from hvdocker.cli.verb_setup import env_and_progress, hooks_for_verb, plan_printer


def replay(
    ctx: typer.Context,
    job: NamedJob,
    np: Annotated[
        Optional[int],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Option(
            "-np", "--np", metavar="N", help="Another number of ranks, wherever they fit.", min=1, show_default=False
        ),
    ] = None,
    env_flags: EnvFlag = None,
    secret_flags: SecretFlag = None,
    detach: DetachFlag = False,
    inventory: InventoryFlag = None,
    cluster: ClusterFlag = None,
    lock_wait: LockWaitFlag = 60.0,
    accept_new_host_keys: AcceptFlag = False,
    force: ForceFlag = False,
    dry_run: DryRunFlag = False,
    skip_hooks: SkipHooksFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Run a job again: the same code, command, environment and slots.

      hvdocker replay train-4kq2

    Where its files have changed since, the code comes from git: the commit
    that was checked out, and the changes to it that were kept with the job.
    Another build of the image is used, and it says so.
    """
    refuse_rest(ctx)
    from hvdocker.inventory.locate import locate
    from hvdocker.training.inputs.request import TrainRequest
    from hvdocker.training.replay import ReplayOptions
    from hvdocker.training.replay import replay as run
    from hvdocker.training.report import Viewer
    from hvdocker.training.train_hooks import TrainHooks

    options = ReplayOptions(
        np=np,
        env=tuple(env_flags or ()),
        secrets=tuple(secret_flags or ()),
        is_detached=detach,
        is_dry_run=dry_run,
        accept_new_host_keys=accept_new_host_keys,
        lock_wait_s=lock_wait,
        is_forced=force,
    )
    with env_and_progress(quiet) as (env, progress):
        located = locate(env, inventory, cluster)
        viewer = Viewer(plan=plan_printer(progress, dry_run))
        attach_viewer(viewer, progress, quiet)
        with TrainHooks(hooks_for_verb(env, progress, located, "replay", skip_hooks or dry_run)).around(viewer):
            report = run(env, located, job, options, viewer)
            progress.pause()
            finish_job(report, located, TrainRequest(is_dry_run=dry_run), False, quiet)
