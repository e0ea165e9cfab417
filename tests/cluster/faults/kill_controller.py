"""Kills the controller with SIGKILL in a step of its plan. The steps are read from a dry run, so that a new
kind of step is covered without a new test."""

import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.faults.trial import DEADLINE_S
from tests.cluster.lab_cluster import LabCluster

LINE = re.compile(r"^(?P<stage>\S+) +(?P<host>this machine|\S+) +(?P<text>.+)$")
CONTROLLER = "this machine"
# Parts of a step's text that differ between hosts, jobs and runs, but not between kinds of steps.
VARIABLE_PART = re.compile(r"(?<=-)[a-z2-7]{4}(?![\w-])|\d+")


@dataclass(frozen=True)
class StepKind:
    """A kind of step: steps that do the same on different hosts are one kind."""

    stage: str
    is_on_controller: bool
    text: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.text}"


def step_kind(line: str) -> StepKind | None:
    """Return the kind of the step in a line of a dry run or of the progress; None if the line has no step."""
    found = LINE.match(line.rstrip("\n"))
    if found is None:
        return None
    return StepKind(found["stage"], found["host"] == CONTROLLER, VARIABLE_PART.sub("*", found["text"]))


def step_kinds(site: LabCluster, verb: str, *words: str | Path, env: Mapping[str, str] | None = None) -> list[StepKind]:
    """Return every kind of step of that command, in order, without duplicates."""
    lines = site.run(verb, "--dry-run", *words, env=env).out.splitlines()
    return list(dict.fromkeys(kind for kind in map(step_kind, lines) if kind))


def kill_during(site: LabCluster, kind: StepKind, *words: str | Path, env: Mapping[str, str] | None = None) -> None:
    """Run the command and kill it as soon as its progress shows that a step of that kind begins."""
    process = site.cli.start(*words, cwd=site.folder, env=env)
    assert process.stderr is not None
    said = []
    for line in iter(process.stderr.readline, ""):
        said.append(line)
        if step_kind(line) == kind:
            break
    else:
        raise AssertionError(f"{kind} never began:\n{''.join(said)}")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == -signal.SIGKILL, f"it ended before it could be killed: {said}"


def for_each_new(found: Sequence[StepKind], known: set[StepKind], act: Callable[[StepKind], None]) -> None:
    """Call `act` for every kind that is not in `known`, and add it to `known`."""
    for kind in found:
        if kind not in known:
            known.add(kind)
            print(f"killed in {kind}")
            act(kind)
