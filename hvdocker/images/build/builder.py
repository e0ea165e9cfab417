"""Runs a build with an engine's classic builder, which every engine has, and sets labels on the result."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

from docker import APIClient

from hvdocker.errors import HvdockerError
from hvdocker.images.build.context import text_context

Say = Callable[[str], None]
_BUILT = re.compile(r"Successfully built ([0-9a-f]{12,})")


@dataclass(frozen=True)
class EngineBuild:
    """The input of one image build. `what` names the image in messages. `command` is a command line that error messages
    show.

    `context` is the build context, an open tar. `target` is a stage of `dockerfile`, empty for the last stage.
    `arguments` are the values of the Dockerfile's `ARG`s. `hosts` maps host names that the build can use to their
    addresses."""

    what: str
    command: str
    context: IO[bytes]
    dockerfile: str
    target: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)


def run_build(engine: APIClient, build: EngineBuild, say: Say) -> str:
    """Build an image and return its id, empty if the output does not name it. The image has no tag yet. `say` receives
    the output line by line.

    Raise HvdockerError with the last lines of output if the build fails."""
    output = engine.build(
        fileobj=build.context,
        custom_context=True,
        dockerfile=build.dockerfile,
        target=build.target or None,
        rm=True,
        forcerm=True,
        network_mode="host",
        buildargs=dict(build.arguments),
        extra_hosts=dict(build.hosts) or None,
        decode=True,
        timeout=3600,
    )
    return _follow_build(output, build, say)


def tag_with_labels(engine: APIClient, image: str, tag: str, labels: Mapping[str, str]) -> None:
    """Add the labels to the image with the id `image`, and tag the result. No layer is added."""
    pairs = " ".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
    context = text_context({"Dockerfile": f"FROM {image}\nLABEL {pairs}\n"})
    build = EngineBuild(tag, f"docker image inspect {image}", context, "Dockerfile")
    made = run_build(engine, build, lambda line: None)
    repository, _, version = tag.rpartition(":")
    engine.tag(made, repository, version, force=True)


def _follow_build(output: Iterator[dict[str, object]], build: EngineBuild, say: Say) -> str:
    last: deque[str] = deque(maxlen=15)
    image = ""
    for message in output:
        text = str(message.get("stream") or message.get("status") or "").rstrip()
        for line in text.splitlines():
            if line.strip():
                last.append(line)
                say(line)
            if found := _BUILT.match(line):
                image = found[1]
        if "error" in message:
            raise HvdockerError(
                f"building {build.what} failed: {message['error']}",
                command=build.command,
                lines=list(last)[-10:],
                fix="the lines above are the build's own; a site with its own CA needs --ca-bundle FILE",
            )
    return image
