"""Starts the short-lived trial container, runs the script of `trial_commands.py` in it and removes it.

If the controller dies first, the container ends after LIFETIME_S and its engine removes it. If the engine does not,
`down` removes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from docker import APIClient

from hvdocker import names
from hvdocker.doctor.facts import trial_commands
from hvdocker.doctor.facts.facts import TrialResult
from hvdocker.engine.container_spec import ContainerSpec

MakeSpec = Callable[[bool], ContainerSpec]


def try_container(engine: APIClient, make: MakeSpec, wants_gpus: bool) -> TrialResult:
    """Run the trial container, with the host's GPUs if `wants_gpus`, and return what it found or why it failed.

    `make` returns the specification; its argument says whether the container gets the GPUs. If the container fails
    with the GPUs, it is tried again without them, because limits and versions are still worth knowing. If the second
    try succeeds, the error of the first becomes `gpu_error` of the result."""
    if not wants_gpus:
        return _run(engine, make(False))
    first = _run(engine, make(True))
    if first.error is None:
        return first
    second = _run(engine, make(False))
    if second.error is not None:
        return second
    return TrialResult(second.image, second.inside, gpu_error=first.error, has_gpus=True)


def _run(engine: APIClient, spec: ContainerSpec) -> TrialResult:
    from docker.errors import APIError

    made: str | None = None
    try:
        made = engine.create_container_from_config(trial_commands.trial_body(spec), spec.name)["Id"]
        engine.start(made)
        running = engine.exec_create(made, list(trial_commands.look_inside().argv))["Id"]
        said: bytes = engine.exec_start(running)
        return _outcome(spec, said.decode("utf-8", "replace"))
    except APIError as error:
        return TrialResult(spec.image, error=str(error.explanation or error), has_gpus=bool(spec.devices))
    finally:
        # If Ctrl-C came before the engine returned the id, the container is removed by name. The error is
        # suppressed because the engine may already be removing the container (AutoRemove).
        with contextlib.suppress(APIError):
            engine.remove_container(made or spec.name, force=True, v=True)


def _outcome(spec: ContainerSpec, said: str) -> TrialResult:
    inside = trial_commands.read_inside(said)
    lines = said.strip().splitlines()[-3:]
    error = None if inside else " ".join(lines) or "it said nothing"
    return TrialResult(spec.image, inside, error=error, has_gpus=bool(spec.devices))


def any_own_image(engine: APIClient) -> str | None:
    """Return the id of any tagged hvdocker image on this engine, or None if there is none.

    The trial container runs it on hosts with GPUs that lack an image for the ranks."""
    found = engine.images(filters={"label": [names.LABEL_IMAGE]})
    return next((str(image["Id"]) for image in found if image.get("RepoTags")), None)
