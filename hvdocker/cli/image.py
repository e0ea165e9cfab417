"""The commands `image build` and `image push`: flags and output. images/image.py does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.flags.verb import (
    AcceptFlag,
    DryRunFlag,
    InventoryFlag,
    LockWaitFlag,
    QuietFlag,
    ScriptFlag,
    check_script_flag,
    refuse_rest,
)
from hvdocker.cli.verb_setup import env_and_progress, plan_printer

app = typer.Typer(help="Build the training image, and push it to the hosts.", no_args_is_help=True)


@app.callback()
def _image() -> None:
    """Build the training image, and push it to the hosts."""


@app.command("build")
def build(
    ctx: typer.Context,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="base (sshd and Python), cpu (with TensorFlow) or gpu (TensorFlow with CUDA and NCCL).",
        ),
    ] = "cpu",
    on: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Option("--on", metavar="HOST", help="Build on this host of the inventory.", show_default=False),
    ] = None,
    ca_bundle: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--ca-bundle", metavar="FILE", help="The site's own certificate authorities.", show_default=False),
    ] = None,
    wheelhouse: Annotated[
        Optional[Path],  # noqa: UP045  # as above
        typer.Option("--wheelhouse", metavar="DIR", help="A folder of wheels that pip may use.", show_default=False),
    ] = None,
    base: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option("--base", metavar="IMAGE", help="The image to build on. Default: Debian's.", show_default=False),
    ] = None,
    cuda_image: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(
            "--cuda-image",
            metavar="IMAGE",
            help="For gpu: NVIDIA's devel image for CUDA 12 to compile with, and TensorFlow 2.18. Untried.",
            show_default=False,
        ),
    ] = None,
    inventory: InventoryFlag = None,
    quiet: QuietFlag = False,
) -> None:
    """Build doc-hvd:TARGET through a Docker engine's API.

    The Debian base is pulled where a registry answers, else made from the
    distribution's packages. The target gpu builds base first; it needs no GPU
    and no registry, but 18 GB of disk and about ten minutes.
    """
    refuse_rest(ctx)
    from hvdocker.console.style import out
    from hvdocker.images.image import BuildRequest
    from hvdocker.images.image import build as run

    with env_and_progress(quiet) as (env, _):
        tag = run(env, BuildRequest(target, on, ca_bundle, wheelhouse, base, cuda_image), inventory)
    out().print(tag)


@app.command("push")
def push(
    ctx: typer.Context,
    image: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Argument(help="Default: the cluster's image.", show_default=False),
    ] = None,
    inventory: InventoryFlag = None,
    lock_wait: LockWaitFlag = 0.0,
    accept_new_host_keys: AcceptFlag = False,
    dry_run: DryRunFlag = False,
    script: ScriptFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Put an image onto every host of the inventory.

    Only layers that a host lacks travel, and four or more hosts that lack
    them pass them on to each other. With `registry:` in the inventory this
    machine pushes there, and the hosts pull.
    """
    refuse_rest(ctx)
    from hvdocker.console import messages
    from hvdocker.console.style import out, write_script
    from hvdocker.images.image import PushRequest
    from hvdocker.images.image import push as run
    from hvdocker.inventory.locate import locate

    check_script_flag(script, dry_run)
    with env_and_progress(quiet or script) as (env, progress):
        located = locate(env, inventory)
        request = PushRequest(image, accept_new_host_keys, dry_run, lock_wait)
        report = run(env, located, request, plan_printer(progress, dry_run and not script))
    if script:
        from hvdocker.script.script import as_script

        write_script(as_script(report.plan, report.inventory, report.hosts))
    elif report.plan.is_empty or not dry_run:
        out().print(messages.image_pushed(report.inventory.image, len(report.hosts), report.plan.is_empty))
