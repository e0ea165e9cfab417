"""Images by way of a registry: this machine pushes, hosts pull. Credentials go along with the request that
needs them, and stay nowhere."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from docker import APIClient

from hvdocker.commands.image_parts import full_reference
from hvdocker.errors import HostUnfit, HvdockerError, UsageProblem
from hvdocker.model import names

USER_VARIABLE = "HVDOCKER_REGISTRY_USER"
PASSWORD_VARIABLE = "HVDOCKER_REGISTRY_PASSWORD"

Progress = Callable[[int, int], None]


def push(engine: APIClient, image: str, registry: str, progress: Progress) -> None:
    """Under the registry's name for a moment: an engine pushes only what is named so."""
    repository, tag = _remote(image, registry)
    engine.tag(image, repository, tag)
    try:
        messages = engine.push(repository, tag, stream=True, decode=True, auth_config=credentials())
        _follow(messages, f"pushing {image} to {registry} failed", progress)
    finally:
        _untag(engine, f"{repository}:{tag}")


def pull(engine: APIClient, image: str, registry: str, progress: Progress) -> None:
    from docker.errors import APIError

    repository, tag = _remote(image, registry)
    what = f"pulling {repository}:{tag} failed"
    try:
        messages = engine.pull(repository, tag, stream=True, decode=True, auth_config=credentials())
        _follow(messages, what, progress)
    except APIError as error:
        raise _refused(what, str(error.explanation or error)) from error
    name, _, own_tag = full_reference(image).rpartition(":")
    engine.tag(f"{repository}:{tag}", name, own_tag)
    _untag(engine, f"{repository}:{tag}")


def demand_label(engine: APIClient, image: str) -> None:
    labels = (engine.inspect_image(image).get("Config") or {}).get("Labels") or {}
    if names.LABEL_IMAGE not in labels:
        raise HvdockerError(
            f"the image {image} is not made for hvdocker (no label {names.LABEL_IMAGE})",
            fix="build yours FROM doc-hvd:base or doc-hvd:cpu: they carry sshd and the rank wrapper",
        )


def demand_same(contents: Mapping[str, str]) -> None:
    """Hosts that pulled one after the other may have got two builds of one tag."""
    if len(set(contents.values())) > 1:
        raise HostUnfit(
            "the hosts pulled different builds of the image",
            lines=[f"{host}: {content}" for host, content in contents.items()],
            fix="was it pushed meanwhile? run the command again",
        )


def credentials() -> dict[str, str] | None:
    """From the environment; None leaves it to what `docker login` keeps on this machine."""
    user, password = os.environ.get(USER_VARIABLE), os.environ.get(PASSWORD_VARIABLE)
    if bool(user) != bool(password):
        raise UsageProblem(f"{USER_VARIABLE} and {PASSWORD_VARIABLE} go together: one of them is empty")
    return {"username": user, "password": password} if user and password else None


def _remote(image: str, registry: str) -> tuple[str, str]:
    name, _, tag = full_reference(image).rpartition(":")
    return f"{registry}/{name}", tag


def _follow(messages: Iterable[Mapping[str, Any]], what: str, progress: Progress) -> None:
    """Any: the engine's JSON, a message per layer and step."""
    done: dict[str, int] = {}
    total: dict[str, int] = {}
    for message in messages:
        if "error" in message:
            raise _refused(what, str(message["error"]))
        detail, layer = message.get("progressDetail") or {}, str(message.get("id", ""))
        if detail.get("total"):
            done[layer], total[layer] = detail.get("current", 0), detail["total"]
            progress(sum(done.values()), sum(total.values()))


def _refused(what: str, said: str) -> HvdockerError:
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
