"""Makes an image that hvdocker can use from a user's own image (`image build --from`)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker import APIClient

from hvdocker.errors import HvdockerError
from hvdocker.images.build.builder import EngineBuild, run_build, tag_with_labels
from hvdocker.images.build.context import build_context, site_ca_bundle
from hvdocker.images.build.from_commands import from_dockerfile, from_tag, named_tag
from hvdocker.images.build.image_files import files_of_image
from hvdocker.images.build.labels import image_labels
from hvdocker.images.build.torch_wheel import lock_pins
from hvdocker.images.build.trial import find_frameworks
from hvdocker.images.build.wheel_cache import user_wheel_cache
from hvdocker.images.frameworks import default_launcher, frameworks_text
from hvdocker.images.targets import TOOLS, from_command

Say = Callable[[str], None]
# A link to the interpreter that prepare-os chose.
PYTHON = "/opt/hvdocker/python"
DOCKERFILE = "Dockerfile.from"


@dataclass(frozen=True)
class FromOptions:
    """The input of `build_from`. `image` is the user's image to build on. `tag` is the name of the new image, empty for
    the default. `ca_bundle` has the site's CA certificates. `environ` are the controller's environment variables."""

    image: str
    tag: str = ""
    ca_bundle: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def build_from(engine: APIClient, options: FromOptions, say: Say) -> str:
    """Build an image on the user's image, label it with what is in it, and return its tag.

    Raise HvdockerError if the engine lacks the image, if the image cannot be built on, or if the build fails."""
    tag = named_tag(options.tag) if options.tag else from_tag(options.image)
    config = _config(engine, options.image)
    has_bash = _check_can_build(engine, options.image, config)
    say(f"building {tag} from {options.image}")
    ca = options.ca_bundle or site_ca_bundle(options.environ)
    dockerfile = {DOCKERFILE: from_dockerfile(options.image, config, has_bash)}
    with build_context(ca, _tools(engine, options, say), dockerfile) as context:
        image = run_build(engine, EngineBuild(tag, from_command(options.image), context, DOCKERFILE), say)
    found = find_frameworks(engine, image, PYTHON)
    if found is None:
        raise HvdockerError(
            f"our programs do not run in the image that was built from {options.image}",
            command=shlex.join(("docker", "run", "--rm", "--entrypoint", PYTHON, image, "-I", "-V")),
        )
    launcher = default_launcher(found.versions)
    tag_with_labels(engine, image, tag, image_labels(launcher, found.versions))
    for folder in found.closed:
        say(f"note: ranks run without root, and may not enter {folder}, which is on the PATH")
    if config.get("Entrypoint"):
        say(f"note: its ENTRYPOINT {shlex.join(config['Entrypoint'])} is not run by hvdocker")
    say(f"{tag}: {frameworks_text(found.versions) or 'no framework'}; launcher {launcher}")
    return tag


def _config(engine: APIClient, image: str) -> Mapping[str, Any]:
    from docker.errors import ImageNotFound

    try:
        config: Mapping[str, Any] = engine.inspect_image(image).get("Config") or {}
    except ImageNotFound:
        raise HvdockerError(
            f"there is no image {image} to build on",
            command=shlex.join(("docker", "image", "inspect", image)),
            fix=shlex.join(("docker", "pull", image)),
        ) from None
    return config


def _check_can_build(engine: APIClient, image: str, config: Mapping[str, Any]) -> bool:
    """Raise HvdockerError if hvdocker cannot build on the image. Otherwise return whether the image has bash."""
    files = files_of_image(engine, image, ("/bin/sh", "/bin/bash"))
    if "/bin/sh" not in files:
        raise HvdockerError(
            f"the image {image} has no shell: nothing can be installed in it",
            command=shlex.join(("docker", "run", "--rm", "--entrypoint", "/bin/sh", image)),
            fix="copy its programs into an image that is built FROM doc-hvd:base: COPY --from=IMAGE",
        )
    if config.get("OnBuild"):
        raise HvdockerError(
            f"the image {image} has ONBUILD instructions, which would run in the wrong folder",
            command=shlex.join(("docker", "image", "inspect", "--format", "{{.Config.OnBuild}}", image)),
            fix="build your own image on it first, then build from that one",
        )
    return "/bin/bash" in files


def _tools(engine: APIClient, options: FromOptions, say: Say) -> list[Path]:
    """Return the wheels of requirements-tools.txt (py-spy), or an empty list if they cannot be downloaded. Raise
    HvdockerError if the cache of wheels cannot be written.

    Without py-spy, a rank that hangs has to print its stacks itself, and may show fewer."""
    cache = user_wheel_cache(str(engine.version()["Arch"]), options.environ)
    found = cache.fetch(lock_pins([TOOLS]), lambda line: None)
    if not found:
        say("note: py-spy could not be downloaded; a rank that hangs in C code will show fewer stacks")
    return [cache.root / name for name in found]
