"""How a run ends, by what happens on its way; the verbs that it is made of are stood in for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from hvdocker.cluster.down import DownReport
from hvdocker.cluster.steps import RemoveTree
from hvdocker.cluster.up import UpOptions
from hvdocker.env import Env
from hvdocker.errors import (
    ExitCode,
    HeadLost,
    HostErrors,
    HostUnreachable,
    HvdockerError,
    Interrupted,
    JobFailed,
    JobStopped,
    UsageProblem,
)
from hvdocker.hooks.hooks import HOOK_NAMES, Hooks
from hvdocker.inventory.locate import Located, read_inventory
from hvdocker.jobs.outcome import JobEnd
from hvdocker.placement.slots import SlotRequest
from hvdocker.plan.plan import Plan, plan_of
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import JobRecord
from hvdocker.protocol.resilience import Elastic
from hvdocker.training.inputs.request import TrainRequest
from hvdocker.training.inputs.resilience_flags import ResilienceFlags
from hvdocker.training.report import Started, TrainReport, Viewer
from hvdocker.training.run import RunReport, RunVerbs, final_error, run

JOB = "train-aaaa"
DOWN = "hvdocker down -i inventory.yaml --cluster lab-"
PLACEMENT = Placement((Share("a", 2),))


@dataclass
class World:
    """What the verbs do when they are called, and that they were."""

    tmp: Path
    up: Callable[[], None] = lambda: None
    train: Callable[[], int] = lambda: 0
    down: Callable[[], None] = lambda: None
    starts: bool = True
    record: JobRecord | None = None
    request: SlotRequest | None = None
    did: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    verbs: RunVerbs = field(default_factory=RunVerbs)

    def run(self, keep: str = "never", **request: Any) -> RunReport:
        env = Env(cwd=self.tmp, environ={}, listener=lambda event: self.told.append(event.text))
        located = read_inventory(env, self.tmp / "inventory.yaml")
        return run(env, located, TrainRequest(script="train.py", **request), keep, Viewer(), self.verbs)


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "inventory.yaml").write_text("cluster: lab\nhosts: [a, b]\n")
    (tmp_path / "train.py").write_text("")
    made = World(tmp_path)

    @contextmanager
    def alive(env: Env, located: Located, claim: Any, wish: str, without: object = ()) -> Iterator[None]:
        made.did.append(f"alive {wish}")
        assert (env.run, located.inventory.cluster) == (claim.token, claim.cluster)
        yield
        made.did.append("gone")

    def up(env: Env, located: Located, options: UpOptions, show: Callable[[Plan], None], _: object) -> Any:
        made.did.append("up")
        made.up()
        made.request = options.request
        show(plan_of("up", "", ("files", [RemoveTree("a", "/x")])))
        return type("Report", (), {"ranks": PLACEMENT.np})

    def train(env: Env, located: Located, request: Any, viewer: Viewer, wish: Any) -> TrainReport:
        made.did.append("train")
        if made.starts:
            viewer.started(Started(JOB, PLACEMENT, 2))
        return TrainReport(JOB, PLACEMENT, Plan("train", ""), {}, JobEnd(made.record, made.train()))

    def down(env: Env, located: Located, options: Any) -> DownReport:
        made.did.append("down")
        assert options.is_sure and not options.discard_outputs
        assert [host.name for host in located.inventory.hosts] == ["a"], "only where something was made"
        made.down()
        return DownReport(Plan("down", ""))

    def fetch(env: Env, located: Located, job: str, target: Any) -> Any:
        made.did.append(f"fetch {job}")
        return type("Report", (), {"fetched": None, "raise_errors": lambda: None})

    def check(env: Env, located: Located, accept_new: bool, request: SlotRequest | None) -> SlotRequest | None:
        made.did.append("check")
        return request

    made.verbs = RunVerbs(check, alive, up, train, fetch, down)
    return made


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


WHOLE = ["check", "alive every slot", "up", "train", "down", "gone"]


def test_success(world: World) -> None:
    report = world.run()
    assert world.did == WHOLE
    assert (report.job, report.error, report.cleanup_error, report.is_kept, report.leftover_hint) == (
        JOB,
        None,
        None,
        False,
        None,
    )
    assert report.located.inventory.cluster.startswith("lab-") and len(report.located.inventory.cluster) == 8
    assert final_error(report) is None


def test_an_elastic_job_begins_with_what_fits(world: World) -> None:
    report = world.run(np=4, endurance=ResilienceFlags(min_np=2))
    assert world.request == SlotRequest(np=4, elastic=Elastic(2))
    assert world.told == ["of 4 ranks 2 fit now: the job begins with these"] and report.error is None


def test_an_elastic_job_without_a_number_takes_no_more_than_it_may_have(world: World) -> None:
    world.run(endurance=ResilienceFlags(min_np=1, max_np=3))
    assert world.request == SlotRequest(elastic=Elastic(1, 3)) and world.told == []


def test_what_is_wrong_here_costs_no_host(world: World) -> None:
    with pytest.raises(UsageProblem, match="--keep"):
        world.run(keep="sometimes")
    with pytest.raises(UsageProblem, match="np"):
        world.run(np=0)
    assert world.did == []


def test_a_failed_job_is_given_back_and_is_what_the_run_ends_with(world: World) -> None:
    world.train = lambda: 1
    report = world.run(np=2)
    assert world.did == ["check", "alive 2 ranks", *WHOLE[2:]] and world.request == SlotRequest(np=2)
    error = final_error(report)
    assert isinstance(error, JobFailed) and error.exit_code == 100


@pytest.mark.parametrize(
    ("error", "code"),
    [(Interrupted("by Ctrl-C"), 130), (KeyboardInterrupt(), 130), (JobStopped("by kim"), 103)],
)
@pytest.mark.parametrize("keep", ["never", "failed"])
def test_whatever_ends_it_the_user_gets_the_machines_back(
    world: World, error: BaseException, code: int, keep: str
) -> None:
    world.train = raising(error)
    final = final_error(world.run(keep))
    assert world.did == WHOLE
    assert isinstance(final, HvdockerError) and final.exit_code == code


def test_a_failed_job_can_be_kept(world: World) -> None:
    world.train = lambda: 1
    report = world.run("failed")
    assert world.did == [*WHOLE[:4], f"fetch {JOB}", "gone"]
    error = final_error(report)
    assert isinstance(error, JobFailed) and error.fix and DOWN in error.fix
    assert f"hvdocker logs -f {JOB} -i inventory.yaml --cluster lab-" in error.fix


def test_always_keeps_also_what_succeeded(world: World) -> None:
    report = world.run("always")
    assert world.did == [*WHOLE[:4], f"fetch {JOB}", "gone"]
    assert report.is_kept and report.leftover_hint and DOWN in report.leftover_hint and final_error(report) is None


def test_a_lost_link_leaves_the_job_alone(world: World) -> None:
    world.train = raising(HostUnreachable("the connection was lost", host="a"))
    report = world.run()
    assert world.did == [*WHOLE[:4], "gone"]
    error = final_error(report)
    assert isinstance(error, HostUnreachable) and error.fix
    assert "hvdocker logs -f" in error.fix and DOWN in error.fix


def test_a_job_that_ended_with_its_head_is_not_adrift(world: World) -> None:
    world.train = raising(HeadLost("the head a does not answer: the job ended with it"))
    report = world.run()
    assert world.did == WHOLE and not report.may_be_running
    assert isinstance(final_error(report), HeadLost)


def test_a_ranks_own_code_is_passed_on(world: World) -> None:
    first = RankEnd(0, "a", 7)
    world.record = JobRecord(JOB, "failed", 1, 0.0, 1.0, (), first)
    world.train = lambda: 1
    assert final_error(world.run(propagates_exit=True)).exit_code == 7
    assert final_error(world.run()).exit_code == 100


def test_a_link_that_is_lost_before_the_job_started_is_no_reason_to_keep_anything(world: World) -> None:
    world.starts, world.train = False, raising(HostUnreachable("the connection was lost", host="a"))
    assert final_error(world.run()) is not None
    assert world.did == WHOLE


def test_an_up_that_made_nothing_has_nothing_to_give_back(world: World) -> None:
    world.up = raising(HvdockerError("unfit"))
    with pytest.raises(HvdockerError, match="unfit"):
        world.run()
    assert world.did == ["check", "alive every slot", "up"]


def test_an_up_that_failed_half_way_is_given_back(world: World) -> None:
    def half(env: Env, located: Located, options: Any, show: Callable[[Plan], None], _: object) -> Any:
        show(plan_of("up", "", ("files", [RemoveTree("a", "/x")])))
        raise KeyboardInterrupt

    world.verbs = replace(world.verbs, up=half)
    error = final_error(world.run())
    assert world.did == ["check", "alive every slot", "down", "gone"]
    assert isinstance(error, Interrupted)


def test_both_are_told_where_giving_back_fails_too(world: World) -> None:
    world.train, world.down = (lambda: 1), raising(HostUnreachable("away", host="a"))
    report = world.run()
    error = final_error(report)
    assert isinstance(error, JobFailed) and error.fix and DOWN in error.fix
    assert report.is_kept and report.cleanup_error and report.cleanup_error.what == "away"


def test_giving_back_that_fails_after_success_is_the_error(world: World) -> None:
    world.down = raising(HostErrors("some could not be cleaned", [HostUnreachable("away", host="a")]))
    report = world.run()
    error = final_error(report)
    assert isinstance(error, HostErrors) and error.exit_code is ExitCode.UNREACHABLE
    assert report.leftover_hint and DOWN in report.leftover_hint
    world.down = raising(ValueError("odd"))
    error = final_error(world.run())
    assert isinstance(error, HvdockerError) and "ValueError: odd" in error.what


def test_what_nobody_foresaw_is_given_back_too(world: World) -> None:
    world.starts, world.train = False, raising(ValueError("odd"))
    assert isinstance(final_error(world.run()), ValueError)
    assert world.did == WHOLE


def hooked(world: World, fails: str = "") -> tuple[Hooks, list[str]]:
    """Hooks that write down their names, cluster and job; one of them fails."""
    folder = world.tmp / ".hvdocker" / "hooks"
    folder.mkdir(parents=True)
    for name in HOOK_NAMES:
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "${{0##*/}} $HVDOCKER_VERB $HVDOCKER_CLUSTER ${{HVDOCKER_JOB-}}"\n'
                        f"exit {int(name == fails)}\n")  # fmt: skip
        path.chmod(0o755)
    said: list[str] = []
    env = Env(cwd=world.tmp, environ={})
    located = read_inventory(env, world.tmp / "inventory.yaml")
    return Hooks(env, located, "run", on_output=lambda line: said.append(line.decode().strip())), said


def names_of(said: list[str], report: RunReport) -> list[str]:
    """Without the cluster, which is the run's own in all of them."""
    cluster = report.located.inventory.cluster
    assert all(line.split()[1:3] == ["run", cluster] for line in said)
    return [" ".join((line.split()[0], *line.split()[3:])) for line in said]


def run_with(world: World, hooks: Hooks) -> RunReport:
    request = TrainRequest(script="train.py")
    return run(hooks.env, hooks.located, request, "never", Viewer(), world.verbs, hooks)


def test_a_run_has_the_hooks_of_its_verbs(world: World) -> None:
    hooks, said = hooked(world)
    report = run_with(world, hooks)
    assert names_of(said, report) == [
        "pre-up",
        "post-up",
        "pre-train",
        f"post-train {JOB}",
        f"pre-down {JOB}",
    ]
    assert world.did == WHOLE


def test_a_hook_that_stops_training_gives_the_machines_back(world: World) -> None:
    hooks, said = hooked(world, fails="pre-train")
    report = run_with(world, hooks)
    assert names_of(said, report) == ["pre-up", "post-up", "pre-train", "pre-down"]
    assert "train" not in world.did and world.did[-2:] == ["down", "gone"]
    assert isinstance(report.error, HvdockerError) and "pre-train" in report.error.what


def test_a_hook_that_stops_giving_back_leaves_all_and_says_how(world: World) -> None:
    hooks, _ = hooked(world, fails="pre-down")
    report = run_with(world, hooks)
    assert "down" not in world.did and report.is_kept
    assert report.cleanup_error is not None and "pre-down" in report.cleanup_error.what
    assert DOWN in (report.leftover_hint or "")


def test_a_hook_that_fails_first_stops_everything(world: World) -> None:
    hooks, said = hooked(world, fails="pre-up")
    with pytest.raises(HvdockerError, match="pre-up failed"):
        run_with(world, hooks)
    assert len(said) == 1 and "up" not in world.did
