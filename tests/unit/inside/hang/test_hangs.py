"""A job that hangs: it is told, its stacks are kept, and what was asked for follows."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from inside.hang.watch import HangSettings, HangWatch
from inside.launchers import named
from inside.runtime.loop import Loop
from inside.runtime.parallel_commands import ParallelCommands
from supervisor_harness import SupervisorHarness

from hvdocker.protocol.record import Hang

WAITS = "start(0, 'h1'); start(1, 'h2'); hang()"
ALLREDUCE = "synchronize /opt/venv/lib/horovod/torch/mpi_ops.py 900"
SLEEP = "load /train/train.py 12"


def hung(tmp_path: Path, **resilience: object) -> SupervisorHarness:
    stage = SupervisorHarness(tmp_path, hang_after_s=0.5, **resilience)
    stage.stack(0, "h1", ALLREDUCE, "main /train/train.py 40")
    stage.stack(1, "h2", SLEEP, "main /train/train.py 38")
    return stage


def test_a_hang_ends_the_job_where_that_was_asked_for(tmp_path: Path) -> None:
    stage = hung(tmp_path, on_hang="kill", restarts=2)
    # The launcher hangs up on rank 1, which cannot tell its end, and names it: that is our own doing.
    gone = "end(0, 'h1', 143, signal=15), put(2, b'Process name: 1\\nExit code: 255\\n'), sys.exit(1)"
    stage.set_launcher_script(0, f"signal.signal(signal.SIGTERM, lambda *_: ({gone})); {WAITS}")
    assert stage.run_job() == 1
    record = stage.record()
    assert (record["state"], record["first_failure"], record["lost_hosts"]) == ("failed", None, [])
    assert record["hang"] == {
        "after_s": 0.5,
        "odd": {"rank": 1, "host": "h2"},
        "why": "it is in load at train.py:12, and others wait for all ranks",
        "bundle": "hang-1",
        "then": "kill",
    }
    assert stage.supervisor_lines() == [
        "no output and no work from any rank for 0.5 s: this looks like a hang; collecting the stacks",
        "rank 0@h1: synchronize at mpi_ops.py:900",
        "rank 1@h2: load at train.py:12",
        "the odd one is rank 1 on h2: it is in load at train.py:12, and others wait for all ranks",
        "the stacks are in logs/hang-1 of the job",
        "ending the job",
    ]
    bundle = stage.logs / "hang-1"
    assert sorted(path.name for path in bundle.iterdir()) == ["h1.json", "h2.json", "summary.txt"]
    assert json.loads((bundle / "h2.json").read_text())["host"] == "h2"
    assert "rank 1@h2: load at train.py:12\n" in (bundle / "summary.txt").read_text()


def test_a_hang_is_run_again_where_that_was_asked_for(tmp_path: Path) -> None:
    stage = hung(tmp_path, on_hang="restart", restarts=1)
    stage.set_launcher_script(0, WAITS)
    stage.set_launcher_script(1, "start(0, 'h1'); end(0, 'h1', 0)")
    assert stage.run_job() == 0
    assert stage.supervisor_lines()[-2:] == [
        "ending the run",
        "run 1 hung; running it again on h1:1,h2:1 (restart 1 of 1)",
    ]
    record = stage.record()
    assert (record["state"], record["hang"]["then"]) == ("succeeded", "restart")
    assert [attempt["first_failure"] for attempt in record["attempts"]] == [None, None]


def test_with_no_restart_left_a_hang_ends_the_job(tmp_path: Path) -> None:
    stage = hung(tmp_path, on_hang="restart")
    stage.set_launcher_script(0, WAITS)
    assert stage.run_job() == 1
    assert (stage.record()["hang"]["then"], stage.supervisor_lines()[-1]) == ("kill", "ending the job")


def test_a_job_that_is_left_alone_is_told_of_once_for_each_silence(tmp_path: Path) -> None:
    stage = hung(tmp_path, on_hang="wait")
    stage.set_launcher_script(
        0,
        "start(0, 'h1'); start(1, 'h2'); wait_for('run/jobs/j/logs/hang-1/summary.txt');"
        "line(0, 'step 2'); wait_for('run/jobs/j/logs/hang-2/summary.txt'); end(0, 'h1', 0)",
    )
    assert stage.run_job() == 0
    heads = [line for line in stage.supervisor_lines() if line.startswith("no output")]
    assert (len(heads), stage.supervisor_lines().count("the ranks go on")) == (2, 2)
    record = stage.record()
    assert (record["state"], record["hang"]["bundle"], record["hang"]["then"]) == (
        "succeeded",
        "hang-2",
        "wait",
    )


def test_idle_beats_and_horovods_own_complaints_are_no_sign_of_life(tmp_path: Path) -> None:
    stage = hung(tmp_path, on_hang="kill")
    stage.set_launcher_script(
        0,
        """
start(0, "h1")
start(1, "h2")
out = 0
while True:
    for text in ("[: W horovod/common/stall_inspector.cc:107] One or more", "Missing ranks:", "1: [grad]"):
        line(0, text)
        out += len(text) + 1
    beat(0, "h1", cpu_s=0.0, out_bytes=out)
    beat(1, "h2", cpu_s=0.0)
    time.sleep(0.02)
""",
    )
    assert stage.run_job() == 1
    assert stage.record()["hang"]["why"] == "Horovod waits for it"


def test_a_host_that_gives_no_answer_is_the_odd_one(tmp_path: Path) -> None:
    stage = hung(tmp_path, on_hang="kill")
    stage.kill_host("h2")
    stage.set_launcher_script(0, WAITS)
    assert stage.run_job() == 1
    hang = stage.record()["hang"]
    assert (hang["odd"], hang["why"]) == ({"rank": 1, "host": "h2"}, "its host does not answer")
    assert (stage.logs / "hang-1" / "h2.json").read_text() == "null\n"


def test_an_elastic_job_that_waits_for_hosts_does_not_hang() -> None:
    """Its ranks are silent while Horovod waits; when there are enough hosts again, time begins again."""
    lacks_hosts, asked, nobody = [True], [], cast(Loop, SimpleNamespace(add=lambda member: None))

    def collect(hosts: Sequence[str]) -> ParallelCommands:
        asked.append(list(hosts))
        return ParallelCommands(nobody, {}, 1)

    settings = HangSettings(1e-9, Path("/nowhere"), named("horovod"), is_excused=lambda: lacks_hosts[0])
    watch = HangWatch(nobody, settings, lambda: [(0, "h1")], collect, lambda hang: None)
    watch.begin()
    before = watch.idle_timer.since
    watch.tick()
    assert asked == [] and watch.idle_timer.since > before
    lacks_hosts[0] = False
    watch.tick()
    assert asked == [["h1"]]


def test_ranks_that_go_on_while_stacks_are_collected_do_not_hang(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    nobody, hangs = cast(Loop, SimpleNamespace(add=lambda member: None)), list[Hang]()
    settings = HangSettings(1e-9, tmp_path, named("horovod"))
    watch = HangWatch(nobody, settings, list, lambda hosts: ParallelCommands(nobody, {}, 1), hangs.append)
    watch.begin()
    watch.tick()
    watch.idle_timer.end(watch.idle_timer.since + 1)
    watch.tick()
    assert (hangs, capfd.readouterr().err.splitlines()[-1]) == ([], "hvdocker: the ranks go on")
