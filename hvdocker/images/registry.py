"""Sends images through a registry: the controller pushes, hosts pull.

The credentials for the registry are sent with each push or pull, and hvdocker stores them nowhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from docker import APIClient

from hvdocker import names
from hvdocker.errors import HostUnfit, HvdockerError, UsageProblem
from hvdocker.images.ship.resumable_parts import full_reference, remote_reference
from hvdocker.images.steps import PullImage
from hvdocker.images.targets import from_command
from hvdocker.observe.state import image_content
from hvdocker.plan.plan import CONTROLLER

USER_VARIABLE = "HVDOCKER_REGISTRY_USER"
PASSWORD_VARIABLE = "HVDOCKER_REGISTRY_PASSWORD"

Progress = Callable[[int, int], None]


def push(engine: APIClient, image: str, registry: str, progress: Progress) -> None:
    """Push the image from `engine` to the registry `registry`, such as `registry.lab:5000/team`. `progress` receives
    the bytes done and the bytes in total. Raise HvdockerError if the push fails.

    An engine pushes only a tag that starts with the registry's name. So the image has such a tag while it is being
    pushed."""
    with _temporary_tag(engine, image, registry) as remote:
        repository, tag = _split(remote)
        if remote != full_reference(image):
            engine.tag(image, repository, tag)
        messages = engine.push(repository, tag, stream=True, decode=True, auth_config=credentials())
        _follow_progress(messages, f"pushing {image} to {registry} failed", progress)


def pull(engine: APIClient, step: PullImage, progress: Progress) -> str:
    """Pull the image of the step with `engine` and return its content hash. `progress` receives the bytes done and the
    bytes in total.

    The pulled image is tagged as `step.image` only after the checks, unless that name starts with the registry's: then
    the pull itself sets this tag. Raise HvdockerError if the pull fails, if the registry has another build than
    `step.content`, or if the image lacks the label that `step.needs_label` demands."""
    with _temporary_tag(engine, step.image, step.registry) as remote:
        _pull(engine, remote, progress)
        found = engine.inspect_image(remote)
        _check_content(step, image_content(found))
        if step.needs_label:
            _check_label(step.image, found)
        if remote != full_reference(step.image):
            engine.tag(remote, *_split(full_reference(step.image)))
    return image_content(found)


@contextmanager
def _temporary_tag(engine: APIClient, image: str, registry: str) -> Iterator[str]:
    """Yield the tag that the image has in the registry, for example `REGISTRY/doc-hvd:cpu`.

    At the end this tag is removed, or moved back to the image that had it before. If `image` already starts
    with the registry's name, the tag is the image's own name and stays."""
    remote = remote_reference(image, registry)
    if remote == full_reference(image):
        yield remote
        return
    before = _id_of(engine, remote)
    try:
        yield remote
    finally:
        if before is None:
            _untag(engine, remote)
        elif _id_of(engine, remote) != before:
            engine.tag(before, *_split(remote))


def _pull(engine: APIClient, remote: str, progress: Progress) -> None:
    from docker.errors import APIError

    what = f"pulling {remote} failed"
    try:
        messages = engine.pull(*_split(remote), stream=True, decode=True, auth_config=credentials())
        _follow_progress(messages, what, progress)
    except APIError as error:
        raise _registry_error(what, str(error.explanation or error)) from error


def _check_content(step: PullImage, found: str) -> None:
    """Raise HvdockerError if the pulled image, with the content hash `found`, is not the build on `step.source`.

    If `step.content` is None, any build is accepted."""
    if step.content in (None, found):
        return
    here = step.source == CONTROLLER
    first = "" if here else f"docker save and load it from {step.source} to this machine, then "
    raise HvdockerError(
        f"the registry has another build of {step.image} than {step.source}",
        lines=[f"{step.source}: {step.content}", f"{step.registry}: {found}"],
        fix=f"{first}hvdocker image push puts {'yours' if here else 'it'} there "
        f"(or remove the image {'here' if here else 'there'} to use the registry's)",
    )


def _check_label(image: str, found: Mapping[str, Any]) -> None:
    labels = (found.get("Config") or {}).get("Labels") or {}
    if names.LABEL_IMAGE not in labels:
        raise HvdockerError(
            f"the image {image} is not made for hvdocker (no label {names.LABEL_IMAGE})",
            fix=from_command(image),
        )


def check_same_content(contents: Mapping[str, str]) -> None:
    """Raise HostUnfit if hosts pulled different builds of one tag. A push between two pulls can cause that.

    `contents` maps each host to the content hash of the image that it pulled."""
    if len(set(contents.values())) > 1:
        raise HostUnfit(
            "the hosts pulled different builds of the image",
            lines=[f"{host}: {content}" for host, content in contents.items()],
            fix="was it pushed meanwhile? run the command again",
        )


def credentials() -> dict[str, str] | None:
    """Return the registry's `username` and `password` from the environment (USER_VARIABLE, PASSWORD_VARIABLE).

    Return None if neither is set; Docker's SDK then uses the credentials that `docker login` stored. Raise
    UsageProblem if only one is set."""
    user, password = os.environ.get(USER_VARIABLE), os.environ.get(PASSWORD_VARIABLE)
    if bool(user) != bool(password):
        raise UsageProblem(f"{USER_VARIABLE} and {PASSWORD_VARIABLE} go together: one of them is empty")
    return {"username": user, "password": password} if user and password else None


def _split(reference: str) -> tuple[str, str]:
    name, _, tag = reference.rpartition(":")
    return name, tag


def _id_of(engine: APIClient, reference: str) -> str | None:
    from docker.errors import ImageNotFound

    try:
        return str(engine.inspect_image(reference)["Id"])
    except ImageNotFound:
        return None


def _follow_progress(messages: Iterable[Mapping[str, Any]], what: str, progress: Progress) -> None:
    """Read the engine's messages about a push or a pull to their end. Call `progress` with the bytes done and the bytes
    in total, summed over all layers.

    If a message reports an error, raise HvdockerError with the text `what`, such as `pulling IMAGE failed`. Values are
    `Any` because the messages are the engine's parsed JSON."""
    done: dict[str, int] = {}
    total: dict[str, int] = {}
    for message in messages:
        if "error" in message:
            raise _registry_error(what, str(message["error"]))
        detail, layer = message.get("progressDetail") or {}, str(message.get("id", ""))
        if detail.get("total"):
            done[layer], total[layer] = detail.get("current", 0), detail["total"]
            progress(sum(done.values()), sum(total.values()))


def _registry_error(what: str, said: str) -> HvdockerError:
    words = said.lower()
    if any(sign in words for sign in ("unauthorized", "no basic auth", "denied", "authentication required")):
        fix = f"give {USER_VARIABLE} and {PASSWORD_VARIABLE}, or docker login here"
    elif "http response to https" in words:
        fix = "the registry speaks plain HTTP: list it under insecure-registries of the engine that asks"
    elif "not found" in words or "manifest unknown" in words:
        fix = "hvdocker image push puts it there"
    else:
        fix = "can this engine reach the registry?"
    return HvdockerError(what, lines=[said], fix=fix)


def _untag(engine: APIClient, reference: str) -> None:
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        engine.remove_image(reference)
