"""The verb `demo`: trains the example `digits` on two workers of this machine's own engine.

It brings the workers up, trains, fetches the results and takes the cluster down. Every step is an `hvdocker` command
that the user could type in the folder of the demo. If a command fails or the user interrupts it, the cluster is taken
down."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hvdocker import assets
from hvdocker.errors import ExitCode, HvdockerError, Interrupted, UsageProblem
from hvdocker.inventory.locate import FOLDER

DEFAULT_FOLDER = Path("hvdocker-demo")
# An unchanged example reads 95 % of the images.
LEAST_ACCURACY = 0.9


@dataclass(frozen=True)
class DemoStep:
    """A command of the demo. `words` are the words after `hvdocker`, and `about` says what the command does."""

    words: tuple[str, ...]
    about: str


STEPS = (
    DemoStep(
        ("up", "--local", "2", "--image", "base"),
        "one cluster of two workers, on this machine's own Docker engine (the first time it builds a small image)",
    ),
    DemoStep(
        ("train", "train.py", "-np", "2", "--launcher", "jax"),
        "one process on each worker; requirements.txt becomes a layer of the image (the first time)",
    ),
    DemoStep(("fetch",), "what the job wrote comes home"),
    DemoStep(("down", "-y"), "containers, network, keys and folders go"),
)
DOWN = DemoStep(("down", "-y", "--discard"), "the demo has not ended well: its cluster is taken down")


class CommandRunner(Protocol):
    """Runs `hvdocker` commands. `is_interrupted` says whether the user has interrupted the demo (Ctrl-C)."""

    @property
    def is_interrupted(self) -> bool: ...

    def run(self, words: tuple[str, ...]) -> int:
        """Run `hvdocker` with these words to its end, and return its exit code."""


@dataclass(frozen=True)
class DemoReport:
    """The result of the demo. `model` is the file with the trained model, in `folder`.

    `accuracy` is the share of `images` images that the model reads correctly. No rank trained on these images."""

    folder: Path
    model: Path
    accuracy: float
    images: int


def demo(folder: Path, runner: CommandRunner, show: Callable[[DemoStep], None]) -> DemoReport:
    """Run the demo in `folder`, which is made if it is missing. `show` is called before each command.

    Raise UsageProblem if the folder has other files. If a command fails, the cluster is taken down, and HvdockerError
    with the exit code of the command is raised, or Interrupted after Ctrl-C. If the cluster could not be taken down,
    the error says how to do that. Also raise HvdockerError if the model was not fetched or has learned too little."""
    write_files(folder)
    for step in STEPS:
        show(step)
        code = runner.run(step.words)
        if code or runner.is_interrupted:
            raise _ended_early(folder, step, code, runner, show)
    return _read_report(folder)


def write_files(folder: Path) -> None:
    """Copy the example into `folder`. Files of the example that are already there stay unchanged.

    Raise UsageProblem if `folder` is not a folder, has other files or cannot be written."""
    source = assets.demo_dir()
    names = {path.name for path in source.iterdir() if path.is_file()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in folder.iterdir()}
        if others := sorted(there - names - {FOLDER}):
            raise UsageProblem(
                f"{folder} has files that are not of the demo: {', '.join(others[:3])}",
                fix="name another folder: hvdocker demo FOLDER",
            )
        for name in names - there:
            shutil.copyfile(source / name, folder / name)
    except OSError as error:
        raise UsageProblem(
            f"the folder {folder} cannot be used: {error.strerror or error}",
            fix="name another folder: hvdocker demo FOLDER",
        ) from error


def _ended_early(
    folder: Path, failed: DemoStep, code: int, runner: CommandRunner, show: Callable[[DemoStep], None]
) -> HvdockerError:
    """Take the cluster down, and return the error for a demo in which the command `failed` failed or was interrupted.

    `code` is the exit code of that command."""
    is_down = True
    if (folder / FOLDER / "current.json").exists():
        show(DOWN)
        is_down = runner.run(DOWN.words) == ExitCode.OK
    fix = None if is_down else f"the demo's cluster may still be there: cd {shlex.quote(str(folder))} && hvdocker down"
    if runner.is_interrupted:
        return Interrupted(f"the demo was interrupted{'; its cluster is down' if is_down else ''}", fix=fix)
    error = HvdockerError(
        f"`hvdocker {' '.join(failed.words)}` failed with exit code {code}",
        fix=fix or "its messages are above; hvdocker demo can be run again",
    )
    error.exit_code = code
    return error


def _read_report(folder: Path) -> DemoReport:
    """Return the result that the newest job of the demo wrote.

    Raise HvdockerError if its files were not fetched, or if the model has learned too little."""
    results = sorted(folder.glob(f"{FOLDER}/jobs/*/out/result.json"), key=lambda path: path.stat().st_mtime)
    model = results[-1].with_name("model.npz") if results else None
    if model is None or not model.is_file():
        raise HvdockerError(
            "the demo trained, but its model did not come home",
            command=shlex.join(("ls", str(folder / FOLDER / "jobs"))),
            fix="run it again: hvdocker demo",
        )
    found = json.loads(results[-1].read_text(encoding="utf-8"))
    report = DemoReport(folder, model, float(found["accuracy"]), int(found["images"]))
    if report.accuracy < LEAST_ACCURACY:
        raise HvdockerError(
            f"the demo trained, but its model reads only {report.accuracy:.0%} of the images",
            fix=f"if {folder / 'train.py'} is unchanged, this is a bug: report it",
        )
    return report
