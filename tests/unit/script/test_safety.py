"""Scripts with nasty values in them, and scripts run in nasty ways."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.cluster.plan.addresses import plan_hosts
from hvdocker.cluster.plan.down import plan_down
from hvdocker.cluster.plan.up import plan_up
from hvdocker.jobs.job_spec import JobSpec
from hvdocker.plan.plan import Plan
from hvdocker.protocol.job_file import JobLauncher
from hvdocker.protocol.placement import Placement, Share
from hvdocker.training.plan.train import plan_train
from tests.unit.builders import MAKER, host_seen, host_with_worker, inventory, master, state_of
from tests.unit.script.script_run import ScriptOptions, ScriptRun

LAB = inventory("hosts: [a, b]")
JOB = JobSpec(
    job="train-abcd",
    cluster="lab",
    placement=Placement((Share("a", 1), Share("b", 1))),
    addresses={"a": "10.0.0.11", "b": "10.0.0.12"},
    port=12345,
    command=("python", "/train/train.py"),
    launcher=JobLauncher("horovod"),
    launcher_preview=("horovodrun",),
    workdir="/train",
)
SECRET = "hunter2"
NASTY = {
    "QUOTES": 'it\'s "quoted"',
    "BACKSLASHES": '\\ \\\\ \\n \\" end\\',
    "NEWLINES": "one\ntwo\n\nfour\n",
    "AMPERSAND": "a & b && \\& c",
    "SHELL_WORDS": "$HOME $(touch evil) `touch evil` ${x} ; * ? ~ !",
    "UNICODE": "한국어 é 🚀",
    "TAB_AND_RETURN": "a\tb\rc",
    "ESCAPE": "\x1b[31mred\x1b[0m\x01\x1f",
    "PLACEHOLDER": "@ENV ESCAPE@ @ENV QUOTES@ %s",
    "HERE_DOCUMENT": "\nHVDOCKER_END\n",
    "EMPTY": "",
}


def trained(tmp_path: Path, job: JobSpec, project: str = "project") -> Plan:
    state = state_of(*(host_with_worker(LAB, name, home=str(tmp_path / name)) for name in "ab"))
    source = tmp_path / project
    source.mkdir()
    (source / "train.py").write_text("print('hi')")
    return plan_train(LAB, plan_hosts(LAB, state), MAKER, job, str(source))


def job_json(tmp_path: Path, host: str) -> object:
    path = tmp_path / host / ".hvdocker" / "lab" / host / "jobs" / "train-abcd" / "job.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_secrets_of_the_caller_are_not_in_the_script_and_arrive_whole(tmp_path: Path) -> None:
    secrets = {name: f"{SECRET}{value}" for name, value in NASTY.items()}
    job = replace(JOB, env={"PLAIN": "it's & fine", **secrets}, env_from_caller=tuple(secrets))
    ran = ScriptRun(trained(tmp_path, job), LAB, tmp_path, ScriptOptions(secrets))
    assert SECRET not in ran.text
    for host in "ab":
        assert job_json(tmp_path, host) == json.loads(job.for_host(host))
    assert not (tmp_path / "evil").exists()


def test_a_variable_that_is_gone_when_the_script_runs_is_named(tmp_path: Path) -> None:
    job = replace(JOB, env={"TOKEN": SECRET}, env_from_caller=("TOKEN",))
    with pytest.raises(AssertionError, match="TOKEN"):
        ScriptRun(trained(tmp_path, job), LAB, tmp_path)
    assert not list(tmp_path.rglob("job.json"))


def test_values_that_were_written_out_arrive_whole_too(tmp_path: Path) -> None:
    job = replace(JOB, env=NASTY, command=("echo", *NASTY.values()))
    ScriptRun(trained(tmp_path, job), LAB, tmp_path)
    for host in "ab":
        assert job_json(tmp_path, host) == json.loads(job.for_host(host))
    assert not (tmp_path / "evil").exists()


@pytest.fixture
def eager(tmp_path: Path) -> Path:
    """An ssh that reads all of its standard input, as the real one does."""
    path = tmp_path / "eager" / "ssh"
    path.parent.mkdir()
    path.write_text(
        "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n"
        'input=$(mktemp); cat > "$input"; ON=$1 sh -c "$2" < "$input"; code=$?; rm "$input"; exit $code\n'
    )
    path.chmod(0o755)
    return path.parent


def test_a_script_piped_into_bash_is_not_eaten_by_ssh(tmp_path: Path, eager: Path) -> None:
    for name in "ab":
        (tmp_path / name / ".hvdocker" / "lab" / name).mkdir(parents=True)
    hosts = [host_with_worker(LAB, name, home=str(tmp_path / name)) for name in "ab"]
    ran = ScriptRun(plan_down(LAB, state_of(*hosts), ()), LAB, tmp_path, ScriptOptions(programs=eager, is_piped=True))
    assert [words[0] for words in ran.calls] == ["a", "b"]
    assert list((tmp_path / "a").iterdir()) == list((tmp_path / "b").iterdir()) == []


def test_all_of_up_and_train_survive_an_eager_ssh(tmp_path: Path, eager: Path) -> None:
    way = ScriptOptions(programs=eager, is_piped=True)
    state = state_of(*(host_seen(name, home=str(tmp_path / name)) for name in "ab"))
    (tmp_path / "up").mkdir()
    ran = ScriptRun(plan_up(LAB, state, plan_hosts(LAB, state), MAKER), LAB, tmp_path / "up", way)
    assert [words[2] for words in ran.calls].count("start") == 2
    assert ran.calls[-1][2:4] == ["exec", "hvdocker-lab-worker"]
    ran = ScriptRun(trained(tmp_path, JOB), LAB, tmp_path, way)
    assert ran.calls[-1] == ["a", "docker", "start", "hvdocker-lab-train-abcd"]
    assert (tmp_path / "b" / ".hvdocker" / "lab" / "b" / "code" / "train.py").is_file()


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\u2028"], ids=ascii)
def test_a_folders_name_with_a_newline_does_not_run_as_code(tmp_path: Path, line_break: str) -> None:
    name = f"my{line_break}touch evil #{line_break} project"
    job = replace(JOB, command=("echo", f"one{line_break}touch evil #"))
    ran = ScriptRun(trained(tmp_path, job, name), LAB, tmp_path)
    assert not list(tmp_path.rglob("evil"))
    assert (tmp_path / "a" / ".hvdocker" / "lab" / "a" / "code" / "train.py").is_file()
    assert ran.calls[-1][2] == "start"


def test_a_running_job_is_stopped_with_grace_by_hand_too(tmp_path: Path) -> None:
    lab = inventory("hosts: [a]")
    state = state_of(host_seen("a", containers=(master("train-abcd", "{}"),)))
    ran = ScriptRun(plan_down(lab, state, ("train-abcd",)), lab, tmp_path)
    assert ran.calls == [
        ["a", "docker", "stop", "--time", "45", "id-train-abcd"],
        ["here", "hvdocker", "fetch", "train-abcd"],
        ["a", "docker", "rm", "-f", "-v", "hvdocker-lab-train-abcd"],
    ]
