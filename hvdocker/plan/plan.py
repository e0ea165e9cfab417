"""Steps, stages and plans. A step says what to do on one host; stages follow each other; the steps of a
stage run on all hosts at once, those of one host in order. Within a wave hosts do not wait for each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CONTROLLER = "this machine"


@dataclass(frozen=True)
class Step:
    host: str

    def describe(self) -> str:
        raise NotImplementedError


@dataclass(frozen=True)
class Stage:
    """It begins when all hosts are done with the stage before; with `follows_on` each host goes on alone."""

    name: str
    steps: tuple[Step, ...]
    follows_on: bool = False


@dataclass(frozen=True)
class Plan:
    verb: str
    cluster: str
    stages: tuple[Stage, ...] = ()
    # What it leaves undone, and why; what is left for a person to do.
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not any(stage.steps for stage in self.stages)

    @property
    def steps(self) -> Iterator[Step]:
        return (step for stage in self.stages for step in stage.steps)

    def waves(self) -> list[list[Stage]]:
        """Stages that hosts go through without waiting for each other."""
        found: list[list[Stage]] = []
        for stage in self.stages:
            if stage.follows_on and found:
                found[-1].append(stage)
            else:
                found.append([stage])
        return found

    def lines(self) -> list[str]:
        """How a plan prints itself, one line per step."""
        return [
            f"{stage.name:<10} {step.host:<14} {step.describe()}"
            for stage in self.stages
            for step in stage.steps
        ]


def by_host(wave: Sequence[Stage]) -> dict[str, list[tuple[str, Step]]]:
    """What each host does in a wave, in order, with the names of the stages."""
    hosts: dict[str, list[tuple[str, Step]]] = {}
    for stage in wave:
        for step in stage.steps:
            hosts.setdefault(step.host, []).append((stage.name, step))
    return hosts


def plan_of(verb: str, cluster: str, *stages: tuple[str, list[Step]] | Stage) -> Plan:
    """Stages with nothing in them are left out."""
    made = [stage if isinstance(stage, Stage) else Stage(stage[0], tuple(stage[1])) for stage in stages]
    return Plan(verb, cluster, tuple(stage for stage in made if stage.steps))
