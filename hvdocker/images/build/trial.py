"""Runs a program in a container of an image, to find out what is in the image. The container has no network and runs as
a user without any rights."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from docker import APIClient

from hvdocker import assets
from hvdocker.images.frameworks import FRAMEWORKS, OTHER_NAMES, FrameworksFound, PythonFound

# The search runs as a user without any rights. Ranks run as the SSH user, who can read at least the same files.
NOBODY = "65534:65534"
_TIMEOUT_S = 120


def find_frameworks(engine: APIClient, image: str, python: str) -> FrameworksFound | None:
    """Return which frameworks the Python interpreters on the image's PATH have. `python` is the path of the interpreter
    in the image that runs the search. Return None if that interpreter cannot run the search."""
    script = (assets.image_dir() / "build" / "find-frameworks").read_text(encoding="utf-8")
    code, text = run_in_image(engine, image, (python, "-I", "-c", script, *FRAMEWORKS, *OTHER_NAMES))
    try:
        return _read_answer(json.loads(text)) if code == 0 else None
    except (ValueError, KeyError, TypeError):
        return None


def _read_answer(answer: Mapping[str, Any]) -> FrameworksFound:
    """Parse the JSON that find-frameworks prints. If several interpreters have a framework, the version of the first
    one counts."""
    found: dict[str, str] = {}
    for python in answer["pythons"]:
        for name, version in python["packages"].items():
            found.setdefault(OTHER_NAMES.get(name, name), version)
    if answer["openmpi"]:
        found.setdefault("openmpi", answer["openmpi"])
    pythons = tuple(PythonFound(python["path"], python["version"]) for python in answer["pythons"])
    return FrameworksFound({name: found[name] for name in FRAMEWORKS if name in found}, pythons, (*answer["closed"],))


def run_in_image(engine: APIClient, image: str, words: Sequence[str]) -> tuple[int, str]:
    """Run the program `words` in a new container of the image, and return its exit code and its standard output. The
    exit code is 127 if the engine cannot start the program."""
    from docker.errors import APIError

    config = engine.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        # The engine's own default may be a driver that cannot be read, such as `none`.
        log_config={"type": "json-file", "config": {}},
    )
    with trial_container(engine, image, words, user=NOBODY, host_config=config) as container:
        try:
            engine.start(container)
        except APIError:
            return 127, ""
        code = engine.wait(container, timeout=_TIMEOUT_S)["StatusCode"]
        return code, engine.logs(container, stdout=True, stderr=False).decode("utf-8", "replace")


@contextmanager
def trial_container(engine: APIClient, image: str, words: Sequence[str], **settings: Any) -> Iterator[str]:
    """Create a container of the image with the command `words`, and yield its id. The container is not started. It is
    removed at the end of the `with` block.

    `settings` are further arguments of the SDK's `create_container`, hence `Any`."""
    from docker.errors import APIError

    made = engine.create_container(image, entrypoint=list(words[:1]), command=list(words[1:]), **settings)["Id"]
    try:
        yield made
    finally:
        with contextlib.suppress(APIError):
            engine.remove_container(made, force=True, v=True)
