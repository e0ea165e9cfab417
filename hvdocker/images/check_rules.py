"""Judges whether an image can serve as the image of a cluster, for which launchers, and why not. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hvdocker import names
from hvdocker.images.frameworks import FrameworksFound, default_launcher, launchers_served
from hvdocker.images.targets import build_command, from_command
from hvdocker.launchers.frameworks import read_frameworks_label
from hvdocker.protocol.format import FORMAT

SHELL = "/bin/sh"
OUR_PYTHON = "/opt/hvdocker/python"
SYSTEM_PYTHON = "/usr/bin/python3"
OUR_PROGRAMS = tuple(f"/opt/hvdocker/bin/{name}" for name in ("entrypoint", "supervisor", "rank", "ssh", "check"))
# The files of an image that `judge_image_facts` looks at.
PATHS = (SHELL, "/usr/sbin/sshd", "/usr/bin/ssh", OUR_PYTHON, SYSTEM_PYTHON, *OUR_PROGRAMS)
_EXECUTABLE = 0o001


@dataclass(frozen=True)
class ImageFacts:
    """The facts about an image from which `image check` judges it.

    `architecture` is the CPU architecture of the image, and `engine_architecture` that of the engine that has the
    image. `files` has those of PATHS that exist in the image, with their permission bits. `found` has the frameworks of
    the image, None if no container of the image could run the search for them."""

    image: str
    architecture: str
    engine_architecture: str
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...]
    files: Mapping[str, int]
    found: FrameworksFound | None = None

    @property
    def python(self) -> str:
        """The path of the interpreter that runs our programs in the image; empty if there is none."""
        return next((path for path in (OUR_PYTHON, SYSTEM_PYTHON) if path in self.files), "")


@dataclass(frozen=True)
class ImageCheck:
    """The result of `image check`. `problems` says why the image cannot serve a cluster, and `fix` what to do; both are
    empty if it can.

    `launchers` are the launchers that the image can serve. `launcher` is the one that a job gets if neither the user
    nor the inventory names one. `frameworks` has versions by name, `pythons` the interpreters with their versions.
    `notes` are remarks for the user that are no problems."""

    image: str
    problems: tuple[str, ...]
    fix: str
    launchers: tuple[str, ...]
    launcher: str
    frameworks: Mapping[str, str] = field(default_factory=dict)
    pythons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def can_serve(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        return {
            "image": self.image,
            "can_serve": self.can_serve,
            "problems": list(self.problems),
            "fix": self.fix or None,
            "launchers": list(self.launchers),
            "launcher": self.launcher,
            "frameworks": dict(self.frameworks),
            "pythons": list(self.pythons),
            "notes": list(self.notes),
        }


def judge_image_facts(facts: ImageFacts) -> ImageCheck:
    problems = tuple(_problems(facts))
    versions = (
        facts.found.versions if facts.found else read_frameworks_label(facts.labels.get(names.LABEL_FRAMEWORKS)) or {}
    )
    pythons = [f"{python.path} {python.version}" for python in facts.found.pythons] if facts.found else []
    return ImageCheck(
        facts.image,
        problems,
        _fix(facts) if problems else "",
        () if problems else launchers_served(versions),
        facts.labels.get(names.LABEL_LAUNCHER) or default_launcher(versions),
        versions,
        tuple(pythons),
        tuple(_notes(facts)),
    )


def _problems(facts: ImageFacts) -> Iterator[str]:
    if facts.architecture != facts.engine_architecture:
        yield f"it is for {facts.architecture}, the engine is {facts.engine_architecture}"
        return
    if SHELL not in facts.files:
        yield f"it has no shell ({SHELL})"
    for program, path in (("sshd", "/usr/sbin/sshd"), ("ssh", "/usr/bin/ssh")):
        if path not in facts.files:
            yield f"it has no {program} ({path})"
    if not facts.python:
        yield f"it has no Python for our programs ({OUR_PYTHON} or {SYSTEM_PYTHON})"
    missing = [path for path in OUR_PROGRAMS if not facts.files.get(path, 0) & _EXECUTABLE]
    if missing:
        what = "it lacks our programs" if len(missing) == len(OUR_PROGRAMS) else "some of our programs are missing"
        yield f"{what} ({missing[0]})"
    elif facts.python and facts.found is None:
        yield f"our programs do not run in it: {facts.python} of at least Python 3.10 is needed"
    yield from _setting_problems(facts)


def _setting_problems(facts: ImageFacts) -> Iterator[str]:
    if names.LABEL_IMAGE not in facts.labels:
        yield f"it has no label {names.LABEL_IMAGE}"
        return
    spoken = facts.labels.get(names.LABEL_FORMAT)
    if spoken != str(FORMAT):
        told = f"format {spoken}" if spoken else "an older format, from before formats had numbers"
        yield f"its programs speak {told}, this hvdocker speaks format {FORMAT}"
    if facts.entrypoint != names.IMAGE_ENTRYPOINT:
        yield f"its ENTRYPOINT is {' '.join(facts.entrypoint) or 'empty'}, not {names.IMAGE_ENTRYPOINT[0]}"


def _fix(facts: ImageFacts) -> str:
    spoken = facts.labels.get(names.LABEL_FORMAT, "")
    if spoken.isdecimal() and int(spoken) > FORMAT:
        return "update hvdocker: the image was built by a newer one"
    if SHELL not in facts.files:
        return "copy its programs into an image that is built FROM doc-hvd:base: COPY --from=IMAGE"
    own = names.image_tag(facts.image)
    return build_command(own) if own in names.OWN_IMAGES else from_command(facts.image)


def _notes(facts: ImageFacts) -> Iterator[str]:
    if facts.found is None:
        return
    for folder in facts.found.closed:
        yield f"ranks run without root, and may not enter {folder}, which is on its PATH"
    labelled = read_frameworks_label(facts.labels.get(names.LABEL_FRAMEWORKS)) or {}
    if names.LABEL_FRAMEWORKS in facts.labels and labelled != dict(facts.found.versions):
        yield f"its label {names.LABEL_FRAMEWORKS} does not say what is in it: build it from your image again"
