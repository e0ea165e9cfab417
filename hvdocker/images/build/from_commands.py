"""The Dockerfile that adds to a user's image what a worker needs, and the name of the result. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from hvdocker import names
from hvdocker.errors import HvdockerError, UsageProblem

# The image of `--from` becomes hvdocker/NAME:TAG.
PREFIX = "hvdocker/"
FOLDER = "/opt/hvdocker-build"
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OUR_FOLDER = "/opt/hvdocker/bin"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
# What engines accept as the name of an image: a registry, a path, a tag.
_NAME = re.compile(rf"(?:[A-Za-z0-9.-]+(?::\d+)?/)?{_PART}(?:/{_PART})*(:[A-Za-z0-9_][\w.-]{{0,127}})?", re.ASCII)


def from_tag(image: str) -> str:
    """Return the default name of the image that is made from the user's image: `hvdocker/` and the name of `image`
    without the registry. `registry.lan:5000/team/train:7` becomes `hvdocker/team/train:7`.

    A digest (`name@sha256:…`) or an image id (`sha256:…`) becomes a tag of twelve characters."""
    name, _, digest = image.partition("@")
    first, slash, rest = name.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        name = rest
    path, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        path, tag = name, ""
    if path == "sha256":
        path, tag = "image", tag[:12]
    return f"{PREFIX}{path.removeprefix(PREFIX)}:{digest.rpartition(':')[2][:12] or tag or 'latest'}"


def named_tag(tag: str) -> str:
    """Return `tag`, the name that the user gave the new image (`--tag`), with the tag `latest` added if it has none.
    Raise UsageProblem if engines do not accept the name; they would say so only after the build."""
    found = _NAME.fullmatch(tag)
    if not found:
        raise UsageProblem(f"--tag {tag!r} is no name of an image", fix="such as my-team/train:7, in lower case")
    return tag if found[1] else f"{tag}:latest"


def from_dockerfile(image: str, config: Mapping[str, Any], has_bash: bool) -> str:
    """Return the Dockerfile that builds on `image`. `config` has the settings of the image, from the engine's JSON.
    `has_bash` says whether the image has bash.

    The system's packages are a layer below our programs, so that a new version of hvdocker sends only a small layer.
    The user and the PATH of the image stay, but the folder of our programs comes first on the PATH, because launchers
    have to find our `ssh`. A health check and a stop signal of the image are removed: they are for the image's own
    program, not for a worker.

    Raise HvdockerError if the image's user or PATH has a character that cannot be printed, because text after a line
    break would be another instruction of the Dockerfile."""
    for name, value in (("USER", str(config.get("User") or "")), ("PATH", _path(config))):
        if not value.isprintable():
            raise HvdockerError(f"the {name} of the image {image} is {value!r}: nothing can be built on it")
    shell = names.IMAGE_COMMAND if has_bash else ("/bin/sh",)
    path = _path(config)
    lines = [
        f"FROM {image}",
        "USER 0",
        f"COPY from/prepare-os from/choose-python site-ca.crt {FOLDER}/",
        _run("prepare-os"),
        "COPY lib /opt/hvdocker/lib",
        f"COPY bin {OUR_FOLDER}",
        f"COPY wheelhouse {FOLDER}/wheelhouse",
        f"COPY stacks {FOLDER}/stacks",
        f"COPY from/prepare-programs {FOLDER}/",
        _run("prepare-programs"),
        f"ENV PATH={_quoted(path if path.split(':')[0] == OUR_FOLDER else f'{OUR_FOLDER}:{path}')}",
        f"WORKDIR {names.CODE_MOUNT}",
        f"USER {config.get('User') or '0'}",
        f"ENTRYPOINT {json.dumps(names.IMAGE_ENTRYPOINT)}",
        f"CMD {json.dumps(shell)}",
        *(["HEALTHCHECK NONE"] if config.get("Healthcheck") else []),
        *(["STOPSIGNAL SIGTERM"] if config.get("StopSignal") else []),
    ]
    return "".join(f"{line}\n" for line in lines)


def _run(program: str) -> str:
    # The command is a list of words, because the SHELL that the image sets may not be a POSIX shell.
    return f"RUN {json.dumps(['/bin/sh', f'{FOLDER}/{program}'])}"


def _path(config: Mapping[str, Any]) -> str:
    pairs = (entry.partition("=") for entry in config.get("Env") or ())
    return next((value for name, _, value in pairs if name == "PATH" and value), DEFAULT_PATH)


def _quoted(value: str) -> str:
    return '"' + re.sub(r'([\\"$])', r"\\\1", value) + '"'
