"""The commands `image build`, `push`, `check` and `ls`: flags and output. images/image.py, check.py and ls.py do the
work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from hvdocker.cli.completers import complete_hosts, complete_images
from hvdocker.cli.flags.verb import (
    AcceptFlag,
    DryRunFlag,
    InventoryFlag,
    JsonFlag,
    LockWaitFlag,
    QuietFlag,
    ScriptFlag,
    check_script_flag,
    refuse_rest,
)
from hvdocker.cli.verb_command import GroupCommand, VerbCommand
from hvdocker.cli.verb_setup import env_and_progress, plan_printer

app = typer.Typer(cls=GroupCommand, help="Build, check, list and push training images.", rich_markup_mode=None)


@app.callback()
def _image() -> None:
    """Build, check, list and push training images."""


@app.command("build", cls=VerbCommand)
def build(
    ctx: typer.Context,
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="TARGET",
            help="base (sshd and Python), torch, torch-cpu, tensorflow-cpu (or cpu), or tensorflow (or gpu: "
            "with CUDA and NCCL).",
            autocompletion=complete_images,
        ),
    ] = "cpu",
    source: Annotated[
        Optional[str],  # noqa: UP045  # typer reads the annotation at run time on Python 3.10
        typer.Option(
            "--from", metavar="IMAGE", help="Your own image, to which a worker's parts are added.", show_default=False
        ),
    ] = None,
    tag: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(
            "--tag", metavar="T", help="With --from: the new name. Default: hvdocker/IMAGE.", show_default=False
        ),
    ] = None,
    on: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(
            "--on",
            metavar="HOST",
            help="Build on this host of the inventory.",
            show_default=False,
            autocompletion=complete_hosts,
        ),
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
    torch_index: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(
            "--torch-index",
            metavar="URL",
            help="For torch-cpu: a package index with CPU builds of PyTorch.",
            show_default=False,
        ),
    ] = None,
    inventory: InventoryFlag = None,
    quiet: QuietFlag = False,
) -> None:
    """Build doc-hvd:TARGET, or one on your own image, through a Docker engine's API.

      hvdocker image build --target torch
      hvdocker image build --from my-team/train:7

    The Debian base is pulled where a registry answers, else made from the
    distribution's packages. The target gpu needs no GPU and no registry, but
    18 GB of disk and 10 to 20 minutes. torch-cpu takes a CPU build of PyTorch
    from --wheelhouse, from what pip here is configured to use, or from
    --torch-index, else the ordinary wheel. --from adds sshd, Python and our
    programs to an image of a Debian- or RHEL-like system.
    """
    refuse_rest(ctx)
    from hvdocker.console import messages
    from hvdocker.console.style import err, out
    from hvdocker.images.image import BuildRequest
    from hvdocker.images.image import build as run
    from hvdocker.names import image_tag

    if source is not None:
        _check_source(ctx.get_parameter_source("target"))
    with env_and_progress(quiet) as (env, _):
        request = BuildRequest(
            target, on, ca_bundle, wheelhouse, base, cuda_image, torch_index, source and image_tag(source), tag
        )
        made = run(env, request, inventory)
    out().print(made)
    if source and not quiet:
        err().print(messages.use_image(made))


def _check_source(target_from: object) -> None:
    """Raise UsageProblem if --target was given beside --from. `target_from` says where the value of --target comes
    from."""
    from hvdocker.errors import UsageProblem

    # By name: some versions of typer bring a copy of click, others need click itself.
    if getattr(target_from, "name", "") == "COMMANDLINE":
        raise UsageProblem("--target and --from exclude each other", fix="leave one of them out")


@app.command("push", cls=VerbCommand)
def push(
    ctx: typer.Context,
    image: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Argument(
            help="An image. Default: the cluster's image.", show_default=False, autocompletion=complete_images
        ),
    ] = None,
    inventory: InventoryFlag = None,
    lock_wait: LockWaitFlag = 0.0,
    accept_new_host_keys: AcceptFlag = False,
    dry_run: DryRunFlag = False,
    script: ScriptFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Put an image onto every host of the inventory.

      hvdocker image push inventory.yaml torch

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


@app.command("check", cls=VerbCommand)
def check(
    ctx: typer.Context,
    image: Annotated[
        str,
        typer.Argument(
            help="An image, or a short name such as torch.", show_default=False, autocompletion=complete_images
        ),
    ],
    on: Annotated[
        Optional[str],  # noqa: UP045  # as above
        typer.Option(
            "--on",
            metavar="HOST",
            help="Look on this host of the inventory.",
            show_default=False,
            autocompletion=complete_hosts,
        ),
    ] = None,
    inventory: InventoryFlag = None,
    json: JsonFlag = False,
) -> None:
    """Say whether an image can serve a cluster, for which launchers, and why not.

      hvdocker image check my-team/train:7

    Looks into the image and tries its Pythons in a container without rights.
    Exit 1 when it cannot serve; then it says what to do.
    """
    refuse_rest(ctx)
    from hvdocker.images.check import check_image

    with env_and_progress(is_quiet=json) as (env, _):
        report = check_image(env, image, on, inventory)
    if json:
        import json as encoder

        print(encoder.dumps(report.as_json(), indent=1))
    else:
        from hvdocker.console.style import out
        from hvdocker.console.views.image import show_image_check

        show_image_check(out(), report)
    if not report.can_serve:
        raise typer.Exit(1)


@app.command("ls", cls=VerbCommand)
def ls(
    ctx: typer.Context,
    inventory: InventoryFlag = None,
    json: JsonFlag = False,
    accept_new_host_keys: AcceptFlag = False,
) -> None:
    """List the images of ours and of the cluster, here and on every host.

      hvdocker image ls

    An image that is another build than on the other machines is marked.
    Without an inventory only this machine's are listed.
    """
    refuse_rest(ctx)
    from hvdocker.errors import gravest_exit_code
    from hvdocker.images.ls import list_images

    with env_and_progress(is_quiet=json) as (env, _):
        report = list_images(env, inventory, accept_new_host_keys)
        now = env.now()
    if json:
        import json as encoder

        print(encoder.dumps(report.as_json(), indent=1))
    else:
        from hvdocker.console.style import out
        from hvdocker.console.views.image import show_images

        show_images(out(), report, now)
    if report.errors:
        raise typer.Exit(int(gravest_exit_code(error.exit_code for error in report.errors)))
