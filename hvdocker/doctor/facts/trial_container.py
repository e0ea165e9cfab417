"""Starts a short-lived container, looks around in it, and takes it away again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from docker import APIClient

from hvdocker import names
from hvdocker.doctor.facts import trial_commands
from hvdocker.doctor.facts.facts import Trial
from hvdocker.engine.container_spec import ContainerSpec

MakeSpec = Callable[[bool], ContainerSpec]


def try_container(engine: APIClient, make: MakeSpec, wants_gpus: bool) -> Trial:
    """Where it does not start with the host's GPUs it is tried once more without them: the rest is still
    worth knowing."""
    if not wants_gpus:
        return _run(engine, make(False))
    first = _run(engine, make(True))
    if first.error is None:
        return first
    second = _run(engine, make(False))
    if second.error is not None:
        return second
    return Trial(second.image, second.inside, gpu_error=first.error, has_gpus=True)


def _run(engine: APIClient, spec: ContainerSpec) -> Trial:
    from docker.errors import APIError

    made: str | None = None
    try:
        made = engine.create_container_from_config(trial_commands.trial_body(spec), spec.name)["Id"]
        engine.start(made)
        running = engine.exec_create(made, list(trial_commands.look_inside().argv))["Id"]
        said: bytes = engine.exec_start(running)
        return _outcome(spec, said.decode("utf-8", "replace"))
    except APIError as error:
        return Trial(spec.image, error=str(error.explanation or error), has_gpus=bool(spec.devices))
    finally:
        # By its name where Ctrl-C came between the question and the answer. The engine may be removing it
        # by itself already.
        with contextlib.suppress(APIError):
            engine.remove_container(made or spec.name, force=True, v=True)


def _outcome(spec: ContainerSpec, said: str) -> Trial:
    inside = trial_commands.read_inside(said)
    lines = said.strip().splitlines()[-3:]
    error = None if inside else " ".join(lines) or "it said nothing"
    return Trial(spec.image, inside, error=error, has_gpus=bool(spec.devices))


def own_image(engine: APIClient) -> str | None:
    """Any image of ours, where the cluster's is not there."""
    found = engine.images(filters={"label": [names.LABEL_IMAGE]})
    return next((str(image["Id"]) for image in found if image.get("RepoTags")), None)
