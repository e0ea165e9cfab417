"""Where secrets go, and what jobs may have left of them."""

import json
from dataclasses import replace
from pathlib import Path

from hvdocker import names
from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.steps import StartContainer
from hvdocker.jobs.secrets.plan import (
    steps_after_head_loss,
    steps_after_kill,
    steps_after_stop,
    steps_for_ended_jobs,
    steps_to_put_secrets,
)
from hvdocker.jobs.secrets.steps import OverwriteSecrets, PutSecrets, RemoveSecrets
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.plan.plan import Stage, plan_of
from hvdocker.secret import SecretSource
from hvdocker.sync.steps import SyncCode
from hvdocker.training.plan.train import plan_train
from hvdocker.training.steps import CreateMaster, WriteJobFile
from tests.unit.builders import MAKER, host_seen, host_with_worker, inventory, master, state_of
from tests.unit.script.script_run import ScriptOptions, ScriptRun
from tests.unit.script.test_script import content
from tests.unit.training.plan.test_train import HOST_PLANS, JOB, LAB

SECRETS = (SecretSource("TOKEN"), SecretSource("CERT", "/home/me/it's.pem"))
MASTER, WORKER = "hvdocker-lab-train-abcd", "hvdocker-lab-worker"


def ended(job: str, placement: str, exit_code: int | None, state: str = "exited") -> ContainerSeen:
    found = master(job, placement, state)
    return replace(found, exit_code=exit_code, labels={**found.labels, "hvdocker.secrets": "TOKEN,CERT"})


def test_they_go_where_the_ranks_run_once_there_is_a_master_and_before_it_starts() -> None:
    plan = plan_train(LAB, HOST_PLANS, MAKER, replace(JOB, secrets=SECRETS), None)
    assert plan.stages[-2:] == (
        Stage("secrets", (
            PutSecrets("a", MASTER, 1000, 1001, "train-abcd", SECRETS, is_master=True),
            PutSecrets("b", WORKER, 1000, 1001, "train-abcd", SECRETS),
        )),
        Stage("master", (StartContainer("a", MASTER),)),
    )  # fmt: skip
    assert plan.lines()[-3].endswith(f"put TOKEN, CERT into {MASTER}")
    (made,) = [step for step in plan.steps if isinstance(step, CreateMaster)]
    assert made.spec.labels["hvdocker.secrets"] == "TOKEN,CERT"
    told = {step.host: json.loads(step.content)["secrets"] for step in plan.steps if isinstance(step, WriteJobFile)}
    assert told == {"a": ["TOKEN", "CERT"], "b": ["TOKEN", "CERT"]}


def test_a_job_without_secrets_has_no_trace_of_them() -> None:
    assert steps_to_put_secrets(LAB, HOST_PLANS, JOB) == []
    plan = plan_train(LAB, HOST_PLANS, MAKER, JOB, None)
    assert "secrets" not in [stage.name for stage in plan.stages]
    assert not [step for step in plan.steps if isinstance(step, WriteJobFile) and "secrets" in step.content]


def test_tidying_comes_after_the_code_and_keeps_no_host_waiting() -> None:
    tidying = [RemoveSecrets("b", WORKER, ("old-cccc",))]
    plan = plan_train(LAB, HOST_PLANS, MAKER, JOB, "/home/me/project", tidying=tidying)
    assert [type(step) for step in plan.stages[0].steps] == [SyncCode, SyncCode]
    assert plan.stages[1] == Stage("secrets", tuple(tidying), follows_on=True)


def test_what_has_to_go_when_its_master_was_killed() -> None:
    assert steps_after_kill(LAB, HOST_PLANS, JOB) == []
    assert steps_after_kill(LAB, HOST_PLANS, replace(JOB, secrets=SECRETS)) == [
        OverwriteSecrets("a", MASTER, "train-abcd", ("TOKEN", "CERT")),
        RemoveSecrets("b", WORKER, ("train-abcd",)),
    ]


def test_what_has_to_go_as_labels_tell_it() -> None:
    killed = ended("killed-cccc", '{"a":1,"b":1}', 137)
    workers = [replace(killed, name=f"worker of {host}", labels={names.LABEL_HOST: host}) for host in "abc"]
    assert steps_after_stop("a", killed, workers) == [
        OverwriteSecrets("a", "hvdocker-lab-killed-cccc", "killed-cccc", ("TOKEN", "CERT")),
        RemoveSecrets("b", "worker of b", ("killed-cccc",)),
    ]
    assert steps_after_stop("a", master("plain-ffff", '{"a":1,"b":2}', "exited"), workers) == []


def test_what_ended_jobs_may_have_left() -> None:
    jobs = (
        ended("orderly-aaaa", '{"a":1,"b":2}', 0),
        ended("failed-bbbb", '{"a":1,"c":2,"gone":1}', 1),
        ended("killed-cccc", '{"a":1,"b":1}', 137),
        ended("never-dddd", '{"a":1}', None, state="created"),
        ended("running-eeee", '{"a":1,"b":1}', None, state="running"),
        # They need their secrets still.
        ended("paused-gggg", '{"a":1,"b":1}', None, state="paused"),
        ended("again-hhhh", '{"a":1,"b":1}', None, state="restarting"),
        master("plain-ffff", '{"a":1,"b":2}', "exited"),
    )
    state = state_of(host_seen("a", containers=jobs), host_seen("b"), host_seen("c"))
    assert steps_for_ended_jobs(plan_hosts(LAB, state), state) == [
        OverwriteSecrets("a", "hvdocker-lab-killed-cccc", "killed-cccc", ("TOKEN", "CERT")),
        OverwriteSecrets("a", "hvdocker-lab-never-dddd", "never-dddd", ("TOKEN", "CERT")),
        RemoveSecrets("b", WORKER, ("orderly-aaaa", "killed-cccc")),
        RemoveSecrets("c", WORKER, ("failed-bbbb",)),
    ]


def test_a_head_that_is_back_does_not_take_the_secrets_of_the_job_that_goes_on_elsewhere() -> None:
    old = replace(ended("again-hhhh", '{"a":1,"b":1}', 137), id="old")
    new = ended("again-hhhh", '{"b":1,"c":1}', None, "running")
    state = state_of(host_seen("a", containers=(old,)), host_seen("b", containers=(new,)), host_seen("c"))
    assert steps_for_ended_jobs(plan_hosts(LAB, state), state) == [
        OverwriteSecrets("a", "hvdocker-lab-again-hhhh", "again-hhhh", ("TOKEN", "CERT"))
    ]


def test_what_a_job_leaves_whose_head_is_gone() -> None:
    """A host that joined since may have them too."""
    left = state_of(host_with_worker(LAB, "b"), host_with_worker(LAB, "c"))
    forgotten = [RemoveSecrets(name, WORKER, ("killed-cccc",)) for name in "bc"]
    assert steps_after_head_loss(left, "killed-cccc") == forgotten
    asleep = state_of(host_with_worker(LAB, "b", state="exited"), host_with_worker(LAB, "c"))
    assert steps_after_head_loss(asleep, "killed-cccc") == forgotten[1:]


def test_a_head_that_is_back_has_them_still_unless_its_job_lives() -> None:
    def back(*masters: ContainerSeen) -> ClusterState:
        return state_of(host_seen("a", containers=masters), host_with_worker(LAB, "b"))

    other = ended("other-aaaa", '{"a":1,"b":1}', 137)
    assert steps_after_head_loss(back(ended("killed-cccc", '{"a":1,"b":1}', 137), other), "killed-cccc") == [
        OverwriteSecrets("a", "hvdocker-lab-killed-cccc", "killed-cccc", ("TOKEN", "CERT")),
        RemoveSecrets("b", WORKER, ("killed-cccc",)),
    ]
    lives = ended("killed-cccc", '{"a":1,"b":1}', None, state="running")
    assert steps_after_head_loss(back(lives, other), "killed-cccc") == []


def test_by_hand_values_are_taken_again_and_stand_in_no_script(tmp_path: Path) -> None:
    lab = inventory("hosts: [a, b]")
    file = tmp_path / "it's here.pem"
    file.write_text("-- cert --\n")
    sources = (SecretSource("TOKEN"), SecretSource("CERT", str(file)))
    plan = plan_of("train", "lab", ("secrets", [
        PutSecrets("b", WORKER, 1000, 1001, "train-abcd", sources),
        RemoveSecrets("b", WORKER, ("x-1", "x-2")),
        OverwriteSecrets("a", MASTER, "x-3", ("TOKEN",)),
    ]))  # fmt: skip
    value = "%s '\"$HOME` \\n*\nnext"
    ran = ScriptRun(plan, lab, tmp_path, ScriptOptions({"TOKEN": value}))
    assert value not in ran.text and "cert --" not in ran.text
    put = ran.archives["b", f"{WORKER}:/run/hvdocker"]
    assert content(put) == {
        "secrets": (0o700, 1000, 1001, ""),
        "secrets/train-abcd": (0o700, 1000, 1001, ""),
        "secrets/train-abcd/TOKEN": (0o400, 1000, 1001, value),
        "secrets/train-abcd/CERT": (0o400, 1000, 1001, "-- cert --\n"),
    }
    forget = ["docker", "exec", WORKER, "rm", "-rf", "--"]
    assert ran.calls_on("b")[1:] == [[*forget, "/run/hvdocker/secrets/x-1", "/run/hvdocker/secrets/x-2"]]
    assert ran.calls_on("a") == [["docker", "cp", "/dev/null", f"{MASTER}:/run/hvdocker/secrets/x-3/TOKEN"]]
