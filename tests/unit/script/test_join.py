"""A host that joins a running job by hand, with everything as `up` itself would have made it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.up import plan_up
from hvdocker.cluster.steps import JoinJob
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.observe.gpu import GpuSeen
from hvdocker.placement.scope import full_scope
from hvdocker.protocol.job_file import JobLauncher, job_file_for_new_host
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import MAKER, host_seen, host_with_worker, inventory, master, state_of
from tests.unit.script.script_run import STAND_INS, ScriptOptions, ScriptRun
from tests.unit.script.test_script import content

LAB = inventory("hosts: [a, c]\nport: 12345\nimage: doc-hvd:cpu\n")
JOB, MASTER, WORKER = "train-abcd", "hvdocker-lab-train-abcd", "hvdocker-lab-worker"
# Lines of other places that look like those that are changed.
ENV = {"X": ' "host": "z",\n "hosts": [\n ],', "host": "nobody", "hosts": "none"}
ON_A = Placement((Share("a", 1),))
SPEC = JobSpec(
    JOB,
    "lab",
    ON_A,
    {"a": "10.0.0.11"},
    1,
    ("python", "a b's.py"),
    JobLauncher("horovod", {"words": ["horovodrun"]}),
    "/train",
    ENV,
)
# A master whose secrets can be copied out of it.
DOCKER = f"""\
#!/bin/sh
case "$2" in
    {MASTER}:/run/hvdocker/secrets)
        folder=$(mktemp -d); mkdir -p "$folder/secrets/{JOB}"; printf s3cr3t > "$folder/secrets/{JOB}/TOKEN"
        chmod 400 "$folder/secrets/{JOB}/TOKEN"; tar -C "$folder" -cf - secrets; rm -r "$folder" ;;
    *) exec {STAND_INS}/docker "$@" ;;
esac
"""


def joined_by_hand(folder: Path, spec: JobSpec, secrets: str = "") -> tuple[ScriptRun, JoinJob]:
    home = folder / "a" / ".hvdocker" / "lab" / "a"
    (home / "jobs" / JOB).mkdir(parents=True)
    (home / "code").mkdir()
    (home / "code" / "train.py").write_text("print(1)\n")
    (home / "jobs" / JOB / "job.json").write_text(spec.for_host("a"))
    (home / "jobs" / JOB / "capsule.json").write_text("{}")
    job = master(JOB, spec.placement.label(), elastic="1:4", secrets=secrets)
    cards = {
        name: tuple(GpuSeen(n, f"GPU-{name}{n}", "T4") for n in range(len(spec.placement.devices_on("a"))))
        for name in "ac"
    }
    a = host_with_worker(LAB, "a", home=str(folder / "a"), gpus=cards["a"])
    a = replace(a, containers=(*a.containers, job))
    state = state_of(a, host_seen("c", home=str(folder / "c"), gpus=cards["c"]))
    plan = plan_up(LAB, state, plan_hosts(LAB, state, full_scope(LAB, state)), MAKER)
    programs = folder / "programs"
    programs.mkdir()
    (programs / "docker").write_text(DOCKER)
    (programs / "docker").chmod(0o755)
    (step,) = [step for step in plan.steps if isinstance(step, JoinJob)]
    return ScriptRun(plan, LAB, folder, ScriptOptions(programs=programs)), step


@pytest.mark.parametrize(
    "spec",
    [SPEC, replace(SPEC, placement=Placement((Share("a", 2, ("GPU-a0", "GPU-a1")),)))],
    ids=["processors", "gpus"],
)
def test_what_the_new_host_gets(tmp_path: Path, spec: JobSpec) -> None:
    ran, step = joined_by_hand(tmp_path, spec)
    home = tmp_path / "c" / ".hvdocker" / "lab" / "c"
    told = (home / "jobs" / JOB / "job.json").read_text()
    assert json.loads(told) == json.loads(job_file_for_new_host(spec.for_host("a"), step.job_host, step.devices))
    assert json.loads(told)["env"] == ENV
    assert (home / "code" / "train.py").read_text() == "print(1)\n"
    assert (home / "jobs" / JOB / "capsule.json").read_text() == "{}"
    assert (home / "jobs" / JOB / "out").is_dir()
    assert not [words for words in ran.calls if "secrets" in " ".join(words)]


def test_what_the_master_is_told(tmp_path: Path) -> None:
    ran, _ = joined_by_hand(tmp_path, SPEC)
    given = content(ran.archives[("a", f"{MASTER}:/run/hvdocker")])
    assert {name: entry[:3] for name, entry in given.items()} == {
        "ssh/config": (0o600, 1000, 1001),
        "ssh/known_hosts": (0o600, 1000, 1001),
        "hosts.json": (0o600, 1000, 1001),
    }
    assert json.loads(given["hosts.json"][3]) == {
        "hosts": [{"name": "a", "address": "10.0.0.11", "slots": 1},
                  {"name": "c", "address": "10.0.0.13", "slots": 1}]
    }  # fmt: skip
    assert "[10.0.0.13]:12345 ssh-ed25519 host_c" in given["ssh/known_hosts"][3]
    assert [words[1] for words in ran.calls_on("c") if words[1] in ("cp", "start")][-1] == "start"


def test_secrets_are_taken_from_the_master_and_stand_in_no_script(tmp_path: Path) -> None:
    ran, _ = joined_by_hand(tmp_path, SPEC, secrets="TOKEN")
    assert content(ran.archives[("c", f"{WORKER}:/run/hvdocker")]) == {
        "secrets": (0o700, 1000, 1001, ""),
        f"secrets/{JOB}": (0o700, 1000, 1001, ""),
        f"secrets/{JOB}/TOKEN": (0o400, 1000, 1001, "s3cr3t"),
    }
    assert "s3cr3t" not in ran.text
