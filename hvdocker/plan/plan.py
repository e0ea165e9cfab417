"""Steps, stages, waves and plans, as data that can be printed and compared. Pure.

A step is one change on one host. Stages follow each other. The steps of a stage run on all hosts at once; the
steps of one host run in order. A wave is a sequence of stages through which hosts go without waiting for each
other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CONTROLLER = "this machine"


@dataclass(frozen=True)
class Step:
    """One change on one host. `host` is the host's name, or CONTROLLER for the user's machine. Subclasses add the
    fields that the change needs."""

    host: str

    def describe(self) -> str:
        """Return the step in words, for plans, progress and errors."""
        raise NotImplementedError


@dataclass(frozen=True)
class Stage:
    """Steps that may run at the same time on different hosts. A stage begins when all hosts have finished the stage
    before. If `follows_on` is set, hosts do not wait for each other: each begins this stage as soon as it has itself
    finished the stage before. `name` is a word for plans and progress, such as `containers`."""

    name: str
    steps: tuple[Step, ...]
    follows_on: bool = False


@dataclass(frozen=True)
class Plan:
    """The stages by which a verb (a command of hvdocker, such as `up`) changes a cluster. A plan without steps means
    that nothing is to be done. `notes` tell the user what the plan does not do and why, and what is left to do."""

    verb: str
    cluster: str
    stages: tuple[Stage, ...] = ()
    # What the plan does not do, and why; what is left for the user to do.
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not any(stage.steps for stage in self.stages)

    @property
    def steps(self) -> Iterator[Step]:
        return (step for stage in self.stages for step in stage.steps)

    def waves(self) -> list[list[Stage]]:
        """Return the stages in groups (waves), in order. Within a wave, hosts do not wait for each other. A stage that
        does not have `follows_on` begins a new wave."""
        found: list[list[Stage]] = []
        for stage in self.stages:
            if stage.follows_on and found:
                found[-1].append(stage)
            else:
                found.append([stage])
        return found

    def lines(self) -> list[str]:
        """Return the plan as text, one line per step: the stage, the host, and the step in words."""
        return [f"{stage.name:<10} {step.host:<14} {step.describe()}" for stage in self.stages for step in stage.steps]


def steps_by_host(wave: Sequence[Stage]) -> dict[str, list[tuple[str, Step]]]:
    """Return the steps of each host in a wave (a group of stages), in order, each with the name of its stage. Hosts
    without steps are left out."""
    hosts: dict[str, list[tuple[str, Step]]] = {}
    for stage in wave:
        for step in stage.steps:
            hosts.setdefault(step.host, []).append((stage.name, step))
    return hosts


def plan_of(verb: str, cluster: str, *stages: tuple[str, list[Step]] | Stage) -> Plan:
    """Make a plan for a verb, such as `up`, and the cluster with the name `cluster`. Each stage is a Stage, or a pair
    of its name and its steps. Stages without steps are left out."""
    made = [stage if isinstance(stage, Stage) else Stage(stage[0], tuple(stage[1])) for stage in stages]
    return Plan(verb, cluster, tuple(stage for stage in made if stage.steps))
