"""The supervisor as a process, over runs of a launcher: what it passes on, records and exits with."""

import json
from pathlib import Path

import pytest
import supervisor_harness
from supervisor_harness import SupervisorHarness

FAILS = "start(0, 'h1'); start(1, 'h2'); end(1, 'h2', 3); end(0, 'h1', 143); sys.exit(1)"
SUCCEEDS = "start(0, 'h1'); end(0, 'h1', 0)"


def test_a_job_that_succeeds_is_recorded_and_its_marks_are_not_seen(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, "start(0, 'h1'); line(0, 'hello'); end(0, 'h1', 0, seconds=1.5)")
    assert stage.run_job() == 0
    record = stage.record()
    assert (record["state"], record["code"], record["launcher_code"]) == ("succeeded", 0, 0)
    [end] = record["ranks"]
    assert (end["rank"], end["host"], end["code"], end["signal"], end["seconds"]) == (0, "h1", 0, None, 1.5)
    assert (record["restarts"], record["first_failure"], record["hang"]) == (0, None, None)
    [attempt] = record["attempts"]
    assert (attempt["number"], attempt["np"], attempt["hosts"]) == (1, 2, ["h1", "h2"])
    assert (stage.out(), stage.stderr_text()) == ("[0]<stdout>:hello\n", "")
    assert json.loads((stage.logs / "record.json").read_text()) == record
    assert (stage.text("ssh.log"), stage.text("check.log")) == ("", "")


def test_the_launcher_starts_the_rank_wrapper_over_the_heads_interface(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, SUCCEEDS)
    assert stage.run_job() == 0
    wrapper = [str(stage.bin / "rank"), "j"]
    assert stage.argv(0) == [*stage.job["launcher"]["options"]["words"][1:], "--network-interfaces", "lo", *wrapper]


def test_on_one_host_alone_no_interface_is_named(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=1)
    stage.set_launcher_script(0, SUCCEEDS)
    assert stage.run_job() == 0
    assert stage.argv(0) == ["-np", "1", "-H", "127.0.0.1:1", str(stage.bin / "rank"), "j"]
    assert stage.text("ssh.log") == ""


def test_while_a_job_runs_its_record_tells_of_the_ranks(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, "start(0, 'h1'); wait_done(); end(0, 'h1', 0)")
    stage.start()
    stage.until(lambda: (stage.run / "record.json").exists() and bool(stage.record()["ranks"]))
    record = stage.record()
    assert (record["state"], record["code"], record["finished"]) == ("running", None, None)
    assert record["attempts"][0]["finished"] is None
    stage.touch("done")
    assert stage.wait() == 0


def test_without_restarts_a_failure_is_the_end(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, FAILS)
    assert stage.run_job() == 1
    record = stage.record()
    assert (record["state"], record["launcher_code"], record["lost_hosts"]) == ("failed", 1, [])
    assert record["first_failure"] == {"rank": 1, "host": "h2", "code": 3, "signal": None}
    assert len(record["attempts"]) == 1


def test_a_failed_job_is_run_again(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=3)
    stage.set_launcher_script(0, FAILS)
    stage.set_launcher_script(1, SUCCEEDS)
    assert stage.run_job() == 0
    assert stage.supervisor_lines() == [
        "run 1 failed (rank 1 on h2: exit code 3); running it again on h1:1,h2:1 (restart 1 of 3)"
    ]
    record = stage.record()
    assert (record["state"], record["restarts"], record["first_failure"]) == ("succeeded", 1, None)
    assert [attempt["launcher_code"] for attempt in record["attempts"]] == [1, 0]
    assert record["attempts"][0]["first_failure"]["rank"] == 1
    assert stage.argv(1) == stage.argv(0)
    assert sorted(stage.text("check.log").splitlines()) == ["h1 gone j 8", "h2 gone j 8"]


def test_a_failure_that_the_launchers_own_restart_survived_is_no_failure_of_the_job(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    both = "start(0, 'h1'); start(1, 'h2')"
    survives = "end(1, 'h2', 3); end(0, 'h1', 143, asked=True)"
    stage.set_launcher_script(0, f"{both}; {survives}; {both}; end(0, 'h1', 0); end(1, 'h2', 0)")
    assert stage.run_job() == 0
    record = stage.record()
    assert (record["state"], record["first_failure"]) == ("succeeded", None)


def test_restarts_go_on_from_those_of_an_earlier_master(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=1, first_restart=2)
    stage.set_launcher_script(2, FAILS)
    stage.set_launcher_script(3, FAILS)
    assert stage.run_job() == 1
    assert stage.supervisor_lines()[0].endswith("(restart 3 of 3)")
    record = stage.record()
    assert (record["state"], record["restarts"], len(record["attempts"])) == ("failed", 1, 2)
    assert record["first_failure"]["code"] == 3


def test_a_host_that_is_gone_is_named_and_left_out(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=3, restarts=1)
    stage.set_launcher_script(
        0,
        "[start(n, f'h{n + 1}') for n in range(3)]; (stage / 'dead/h2').touch();"
        "end(0, 'h1', 1); end(2, 'h3', 1); sys.exit(1)",
    )
    stage.set_launcher_script(1, SUCCEEDS)
    assert stage.run_job() == 0
    assert stage.supervisor_lines() == [
        "h2 stopped answering (rank 1 was there)",
        "run 1 failed (h2 stopped answering); running it again on h1:1,h3:1 (restart 1 of 1)",
    ]
    assert stage.argv(1)[:4] == ["-np", "2", "-H", "127.0.0.1:1,198.18.0.3:1"]
    first, second = stage.record()["attempts"]
    assert (first["lost_hosts"], first["first_failure"]["rank"]) == (["h2"], 0)
    assert (second["np"], second["hosts"], stage.record()["lost_hosts"]) == (2, ["h1", "h3"], [])


def test_if_all_others_are_gone_the_head_goes_on_alone(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=1)
    stage.set_launcher_script(0, "start(1, 'h2'); (stage / 'dead/h2').touch(); sys.exit(1)")
    stage.set_launcher_script(1, SUCCEEDS)
    assert stage.run_job() == 0
    assert stage.supervisor_lines()[1].startswith("run 1 failed (h2 stopped answering); running it again on h1:1 ")
    assert stage.argv(1) == ["-np", "1", "-H", "127.0.0.1:1", str(stage.bin / "rank"), "j"]


def test_lost_hosts_are_recorded_also_without_restarts(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, "start(1, 'h2'); (stage / 'dead/h2').touch(); sys.exit(1)")
    assert stage.run_job() == 1
    assert stage.record()["lost_hosts"] == ["h2"]
    assert stage.supervisor_lines() == ["h2 stopped answering (rank 1 was there)"]


GONE = "put(2, b'The first process to do so was:\\nProcess name: 1\\nExit code: 255\\n'); sys.exit(1)"


def test_a_worker_that_died_and_is_back_is_the_cause_all_the_same(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=3)
    ended = "end(0, 'h1', 143, signal=15)"
    stage.set_launcher_script(0, f"start(0, 'h1'); start(1, 'h2'); start(2, 'h3'); {ended}; {GONE}")
    assert stage.run_job() == 1
    assert stage.record()["lost_hosts"] == ["h2"]
    assert stage.supervisor_lines() == ["h2 stopped answering (rank 1 was there)"]


def test_a_rank_whose_wrapper_was_killed_is_the_failure_and_its_host_is_well(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    killed = GONE.replace("255", "137")
    stage.set_launcher_script(0, f"start(0, 'h1'); start(1, 'h2'); end(0, 'h1', 143, signal=15); {killed}")
    assert stage.run_job() == 1
    record = stage.record()
    first = {"rank": 1, "host": "h2", "code": 137, "signal": 9}
    assert (record["first_failure"], record["lost_hosts"], stage.supervisor_lines()) == (first, [], [])
    assert [end["code"] for end in record["ranks"]] == [143, 137]


def test_a_rank_that_failed_by_itself_is_not_excused_by_a_host_that_is_slow_to_answer(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=3)
    own = "end(1, 'h2', 137, signal=9, oom=True, asked=False); (stage / 'dead/h2').touch()"
    others = "[end(n, f'h{n + 1}', 1, asked=True) for n in (0, 2)]"
    stage.set_launcher_script(0, f"[start(n, f'h{{n + 1}}') for n in range(3)]; {own}; {others}; sys.exit(1)")
    assert stage.run_job() == 1
    record = stage.record()
    assert (record["first_failure"]["rank"], record["first_failure"]["oom"]) == (1, True)
    assert (record["lost_hosts"], stage.supervisor_lines()) == ([], [])


RAISED = "line(1, 'Traceback (most recent call last):', 'stderr')"
FOLLOWED = "line(0, 'Traceback (most recent call last):'); line(0, 'HorovodInternalError: x')"


@pytest.mark.parametrize(
    ("started", "code", "number", "said", "first"),
    [
        (1.0, 1, None, "ValueError: x", 1),
        (1.0, 143, 15, "ValueError: x", 1),
        (0.5, 1, None, "ValueError: x", 0),
        (1.0, 0, None, "all is well", 0),
        (1.0, 1, None, "HorovodInternalError: y", 0),
    ],
    ids=["its own", "ended while it took its leave", "older", "it did well", "it followed too"],
)
def test_a_rank_that_raised_is_named_though_those_who_followed_it_were_faster(
    tmp_path: Path, started: float, code: int, number: int | None, said: str, first: int
) -> None:
    """The launcher hangs up on it before it can tell; what it wrote down on its host does."""
    stage = SupervisorHarness(tmp_path)
    kept = {"rank": 1, "host": "h2", "code": code, "signal": number, "asked": True, "started": started}
    (stage.logs / "rank-1.json").write_text(json.dumps(kept))
    (stage.logs / "rank-1.log").write_text(f"Traceback (most recent call last):\n{said}\n")
    stage.set_launcher_script(0, f"start(0, 'h1'); start(1, 'h2'); {RAISED}; {FOLLOWED}; end(0, 'h1', 1); sys.exit(1)")
    assert stage.run_job() == 1
    record = stage.record()
    named = record["first_failure"]
    assert (named["rank"], named["code"], named["signal"], record["lost_hosts"]) == (first, 1, None, [])
    assert [end["code"] for end in record["ranks"]] == [1, code if first else None]


def test_a_rank_that_was_asked_to_end_did_not_fail_by_itself(tmp_path: Path) -> None:
    """It may end with any code then: what it was asked for is the reason."""
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, f"start(0, 'h1'); start(1, 'h2'); end(0, 'h1', 1, asked=True); {GONE}")
    assert stage.run_job() == 1
    assert stage.record()["lost_hosts"] == ["h2"]


@pytest.mark.parametrize("end", ["end(1, 'h2', 3)", "end(0, 'h1', 7)", "end(1, 'h2', 1); end(0, 'h1', 143)"])
def test_a_rank_that_told_its_end_lost_no_host(tmp_path: Path, end: str) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, f"start(0, 'h1'); start(1, 'h2'); {end}; {GONE}")
    assert stage.run_job() == 1
    assert stage.record()["lost_hosts"] == []


def test_a_rule_keeps_a_job_from_being_run_again(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=3, rules=[{"pattern": "out of (memory)", "then": "stop"}])
    stage.set_launcher_script(0, "start(1, 'h2'); line(1, 'x: out of memory'); line(1, 'out of memory'); sys.exit(1)")
    assert stage.run_job() == 1
    rule = {"host": "h2", "pattern": "out of (memory)", "line": "x: out of memory", "rank": 1}
    assert stage.record()["stopped_by_rule"] == rule
    [said] = stage.supervisor_lines()
    assert said.startswith("rank 1 on h2 said 'x: out of memory' (rule 'out of (memory)')")


def test_a_rule_drops_a_host_but_never_the_head(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=1, rules=[{"pattern": "ECC", "then": "drop"}])
    words = "[line(n, 'an ECC error') for n in (0, 0, 1, 1)]; sys.exit(1)"
    stage.set_launcher_script(0, f"start(0, 'h1'); start(1, 'h2'); {words}")
    stage.set_launcher_script(1, SUCCEEDS)
    assert stage.run_job() == 0
    spared, dropped, again = stage.supervisor_lines()
    assert spared.endswith("the head cannot be dropped, the job goes on")
    assert dropped.endswith("h2 is left out should the job be run again")
    assert "running it again on h1:1 (" in again
    dropped = {"host": "h2", "pattern": "ECC", "line": "an ECC error", "rank": 1}
    assert stage.record()["dropped"] == [dropped]


def test_a_host_that_took_part_to_the_end_is_not_said_to_be_dropped(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=1, rules=[{"pattern": "ECC", "then": "drop"}])
    stage.set_launcher_script(0, "start(0, 'h1'); start(1, 'h2'); line(1, 'ECC'); end(1, 'h2', 0); end(0, 'h1', 0)")
    assert stage.run_job() == 0
    [said] = stage.supervisor_lines()
    assert said.endswith("h2 is left out should the job be run again")
    assert stage.record()["dropped"] == []


def test_a_launcher_that_is_not_there_is_not_tried_again(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=3)
    stage.job["launcher"]["options"]["words"] = ["no-such-launcher"]
    assert stage.run_job() == 1
    assert stage.supervisor_lines() == [
        "this image has no no-such-launcher: build it on doc-hvd:cpu, or install Horovod in it"
    ]
    assert (stage.record()["launcher_code"], stage.record()["restarts"]) == (127, 0)


def test_a_record_that_cannot_be_written_does_not_end_the_job(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=1)
    stage.logs.rmdir()
    stage.logs.touch()
    stage.set_launcher_script(0, SUCCEEDS)
    assert stage.run_job() == 0
    assert [line for line in stage.supervisor_lines() if "cannot write" in line] == stage.supervisor_lines()
    assert len(stage.supervisor_lines()) == 1


def test_a_process_that_outlives_the_launcher_and_writes_on_does_not_keep_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    less = "from inside.supervisor import launcher_output; launcher_output.DRAIN_S = 0.1\n"
    monkeypatch.setattr(supervisor_harness, "SUPERVISOR", less + supervisor_harness.SUPERVISOR)
    stage = SupervisorHarness(tmp_path)
    # It ends as soon as nobody reads what it writes, else after some time.
    writes = f"for n in $(seq 400); do echo $n; sleep 0.05; done; touch {tmp_path}/silent"
    leftover = f"subprocess.Popen(['sh', '-c', {writes!r}], start_new_session=True)"
    stage.set_launcher_script(0, f"import subprocess; {SUCCEEDS}; {leftover}")
    assert stage.run_job() == 0
    assert not (tmp_path / "silent").exists()
