"""Chooses the launcher of a job, and checks that the cluster's image fits the launcher and the script. Contacts no
host."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hvdocker import names
from hvdocker.images.image_format import format_problem
from hvdocker.inventory.inventory import Inventory
from hvdocker.launchers.choose import LauncherChoice, choose_launcher
from hvdocker.launchers.frameworks import (
    SEARCHED,
    launcher_problem,
    provided_frameworks,
    read_frameworks_label,
    script_problem,
)
from hvdocker.observe.state import ClusterState
from hvdocker.training.inputs.request import JobInputs, TrainRequest
from hvdocker.training.inputs.script_imports import frameworks_imported, start_file
from hvdocker.training.inputs.user_command import UserCommand


def launcher_of_job(inventory: Inventory, request: TrainRequest, state: ClusterState) -> LauncherChoice:
    """Return the launcher of the job and what decided it: the flag, the inventory, or the label of the image that the
    workers in `state` run. If none of these names a launcher, return the default launcher. In a replay the reason names
    the original job. Raise UsageProblem if the launcher is unknown."""
    labels = next(iter(_image_labels(state, state.hosts)), {})
    choice = choose_launcher(request.launcher, inventory.launcher, labels.get(names.LABEL_LAUNCHER, ""))
    return replace(choice, reason=f"as {request.replay.capsule.job}") if request.replay else choice


def refuse_other_format(inventory: Inventory, state: ClusterState, hosts: Sequence[str]) -> None:
    """Raise HvdockerError if a worker on one of the job's `hosts` runs an image whose programs use another version of
    the formats in hvdocker.protocol than this hvdocker."""
    for labels in _image_labels(state, hosts):
        if problem := format_problem(inventory.image, labels):
            raise problem


def refuse_unfit_image(
    inventory: Inventory,
    state: ClusterState,
    hosts: Sequence[str],
    choice: LauncherChoice,
    inputs: JobInputs,
    sent: Collection[str],
) -> None:
    """Raise HvdockerError if the launcher or the script needs a framework that neither the image of the cluster nor the
    job's requirements have. Do nothing with --force, or if it is not known which frameworks they have. `choice` has the
    launcher; `sent` are the paths of the synced files."""
    labels = next(iter(_image_labels(state, hosts)), {})
    lines = inputs.requirements.lines if inputs.requirements else ()
    provided = provided_frameworks(read_frameworks_label(labels.get(names.LABEL_FRAMEWORKS)), lines)
    if inputs.request.is_forced or provided is None:
        return
    has_gpus = any(state.hosts[name].gpus for name in hosts)
    if problem := launcher_problem(choice.launcher, inventory.image, provided, has_gpus):
        raise problem
    imported = _imported(inputs.user_command, inputs.request.module, sent)
    if problem := script_problem(imported, inventory.image, provided, has_gpus):
        raise problem


def _imported(work: UserCommand, module: str | None, sent: Collection[str]) -> Mapping[str, str]:
    start = work.display_name if work.is_script else start_file(module, sent) if module else ""
    if Path(start).suffix != ".py":
        return {}
    return frameworks_imported(work.source, start, sent, SEARCHED)


def _image_labels(state: ClusterState, hosts: Collection[str]) -> list[Mapping[str, str]]:
    """Return the labels of the image that each worker of `hosts` runs. A container inherits them from its image."""
    workers = state.workers()
    return [workers[name].labels for name in hosts if name in workers]
