"""The verb `image check`: inspects an image on the engine of the controller or of a host, looks for frameworks in a
temporary container of it, and judges it by check_rules.py."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from docker import APIClient

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HvdockerError
from hvdocker.images.build.image_files import files_of_image
from hvdocker.images.build.trial import find_frameworks
from hvdocker.images.check_rules import PATHS, ImageCheck, ImageFacts, judge_image_facts
from hvdocker.images.on_engine import engine_for
from hvdocker.observe.probe import docker_arch
from hvdocker.transport.errors import translating_errors


def check_image(env: Env, image: str, on: str | None, inventory: Path | None) -> ImageCheck:
    """Return the result of `image check`, which says whether the image can serve a cluster. The image is examined on
    the host `on` of the inventory, or on the controller if `on` is None.

    Raise HvdockerError if there is no such image."""
    tag = names.image_tag(image)
    with engine_for(env, on, inventory) as link, translating_errors(link.name, "looking at the image"):
        return judge_image_facts(image_facts(link.engine(), tag))


def image_facts(engine: APIClient, image: str) -> ImageFacts:
    from docker.errors import ImageNotFound

    try:
        inspected = engine.inspect_image(image)
    except ImageNotFound:
        raise HvdockerError(
            f"there is no image {image}",
            command=shlex.join(("docker", "image", "inspect", image)),
            fix=f"docker pull or docker build it, or build one of ours: {', '.join(names.SHORT_IMAGE_NAMES)}",
        ) from None
    config = inspected.get("Config") or {}
    files = files_of_image(engine, image, PATHS)
    facts = ImageFacts(
        image,
        inspected["Architecture"],
        docker_arch(str(engine.version()["Arch"])),
        config.get("Labels") or {},
        tuple(config.get("Entrypoint") or ()),
        files,
    )
    if not facts.python or facts.architecture != facts.engine_architecture:
        return facts
    return replace(facts, found=find_frameworks(engine, image, facts.python))
