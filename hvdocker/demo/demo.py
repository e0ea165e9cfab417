"""The verb `demo`: trains the example `digits` on two workers of this machine's own engine.

Every step is an `hvdocker` command that the user could type in the folder of the demo. If a command fails, the user
interrupts it or its output cannot be written, the cluster is taken down. A cluster that was there before is never
touched."""

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

    def run(self, words: tuple[str, ...], is_cleanup: bool = False, is_silent: bool = False) -> int:
        """Run a command to its end and return its exit code. With `is_cleanup` it runs although the user has asked for
        the end. With `is_silent` its output is thrown away."""


@dataclass(frozen=True)
class DemoReport:
    """The result of the demo. `model` is the file with the trained model, in `folder`.

    `accuracy` is the share of `images` images that the model reads correctly. No rank trained on these images."""

    folder: Path
    model: Path
    accuracy: float
    images: int


def demo(
    folder: Path, runner: CommandRunner, show: Callable[[DemoStep], None], has_workers: Callable[[], bool]
) -> DemoReport:
    """Run the demo in `folder`, which is made if it is missing. `show` is called before each command. `has_workers`
    returns whether this machine has a cluster of the name that the demo's would have.

    Raise UsageProblem if the folder has other files or a cluster, or if `has_workers`. Raise HvdockerError with the
    exit code of the command that failed, or Interrupted, or the OSError of `show`; the cluster is then taken down, or
    the error says how to do that. Raise HvdockerError also if the model did not come home or has learned too little."""
    _refuse_existing_cluster(folder, has_workers)
    write_files(folder)
    for step in STEPS:
        try:
            show(step)
        except OSError:
            # Nobody reads: a closed pipe or terminal.
            _take_down(folder, runner, show)
            raise
        code = runner.run(step.words)
        if code or runner.is_interrupted:
            raise _ended_early(folder, step, code, runner, show)
    return _read_report(folder)


def _refuse_existing_cluster(folder: Path, has_workers: Callable[[], bool]) -> None:
    """Raise UsageProblem if there is a cluster that the demo would take for its own, and take down at its end."""
    if _pointer(folder).exists():
        raise UsageProblem(
            f"the folder {folder} already has a cluster",
            fix=f"take it down: cd {shlex.quote(str(folder))} && hvdocker down; or name another folder: "
            "hvdocker demo FOLDER",
        )
    if has_workers():
        raise UsageProblem(
            f"this machine already has workers of a cluster with the name of the folder {folder}",
            fix="name a folder of another name: hvdocker demo FOLDER",
        )


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
    """Take the cluster down, and return the error for a demo that ended with the command `failed`."""
    is_down = _take_down(folder, runner, show)
    fix = None if is_down else f"the demo's cluster may still be there: cd {shlex.quote(str(folder))} && hvdocker down"
    if runner.is_interrupted:
        return Interrupted(f"the demo was interrupted{'; its cluster is down' if is_down else ''}", fix=fix)
    error = HvdockerError(
        f"`hvdocker {' '.join(failed.words)}` failed with exit code {code}",
        fix=fix or "its messages are above; hvdocker demo can be run again",
    )
    error.exit_code = code
    return error


def _take_down(folder: Path, runner: CommandRunner, show: Callable[[DemoStep], None]) -> bool:
    """Take the demo's cluster down if there is one. Return whether it is gone."""
    if not _pointer(folder).exists():
        return True
    is_silent = False
    try:
        show(DOWN)
    except OSError:
        # `down` would fail at its first message too.
        is_silent = True
    code = runner.run(DOWN.words, is_cleanup=True, is_silent=is_silent)
    return code == ExitCode.OK or not _pointer(folder).exists()


def _pointer(folder: Path) -> Path:
    """The file that `up` writes before it makes a container, and that `down` removes when all are gone."""
    return folder / FOLDER / "current.json"


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
