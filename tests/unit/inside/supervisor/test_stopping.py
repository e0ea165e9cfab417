"""An ask to stop is heard in every phase of a job."""

from pathlib import Path

import pytest
from supervisor_harness import SupervisorHarness

WAITS = "start(0, 'h1'); (stage / 'up').touch(); hang()"
STUBBORN = "signal.signal(signal.SIGTERM, lambda *_: (stage / 'asked').touch()); " + WAITS
ENDS = f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); {WAITS}"
FAILS = "start(1, 'h2'); end(1, 'h2', 3); sys.exit(1)"


def test_a_job_is_stopped_with_grace(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=3)
    stage.set_launcher_script(0, ENDS)
    stage.start()
    stage.until((tmp_path / "up").exists)
    stage.stop()
    assert stage.wait() == 143
    record = stage.record()
    assert (record["state"], record["code"], record["launcher_code"]) == ("stopped", 143, 5)
    assert len(record["attempts"]) == 1


def test_asked_twice_it_ends_at_once(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.job["grace_s"] = 600
    stage.set_launcher_script(0, STUBBORN)
    stage.start()
    stage.until((tmp_path / "up").exists)
    stage.stop()
    stage.until((tmp_path / "asked").exists)
    stage.stop()
    assert stage.wait() == 143
    assert stage.record()["launcher_code"] == 137


def test_a_stop_is_heard_while_the_last_run_is_cleared_up(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, restarts=3)
    stage.job["grace_s"] = 600
    stage.touch("busy")
    stage.set_launcher_script(0, FAILS)
    stage.start()
    stage.until(lambda: len(stage.text("check.log").splitlines()) == 2)
    stage.stop()
    stage.until(lambda: len(stage.text("check.log").splitlines()) == 3)
    stage.untouch("busy")
    assert stage.wait() == 143
    record = stage.record()
    assert (record["state"], len(record["attempts"]), stage.supervisor_lines()) == ("stopped", 1, [])


@pytest.mark.parametrize(("plan", "code"), [(ENDS, 143), (FAILS, 1)])
def test_a_job_ends_when_no_rank_is_left_on_another_host(tmp_path: Path, plan: str, code: int) -> None:
    """The launcher hangs up on them, and is gone before they are."""
    stage = SupervisorHarness(tmp_path)
    stage.touch("busy")
    stage.set_launcher_script(0, plan)
    stage.start()
    if code == 143:
        stage.until((tmp_path / "up").exists)
        stage.stop()
    stage.until(lambda: stage.text("check.log") == "h2 gone j 8\n")
    stage.until(lambda: stage.record()["code"] == code)
    stage.untouch("busy")
    assert stage.wait() == code
    assert (stage.supervisor_lines(), stage.text("check.log")) == ([], "h2 gone j 8\n")


def test_a_second_ask_ends_the_wait_for_ranks_elsewhere(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.job["grace_s"] = 600
    stage.touch("busy")
    stage.set_launcher_script(0, ENDS)
    stage.start()
    stage.until((tmp_path / "up").exists)
    stage.stop()
    stage.until(lambda: "gone j" in stage.text("check.log"))
    stage.stop()
    assert stage.wait() == 143


def test_a_rank_that_will_not_end_is_told_of(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.touch("stuck")
    stage.set_launcher_script(0, FAILS)
    assert stage.run_job() == 1
    assert stage.supervisor_lines() == ["ranks of this job still run on h2"]


def test_nobody_waits_for_hosts_that_are_gone(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=3)
    stage.set_launcher_script(0, "start(1, 'h2'); (stage / 'dead/h2').touch(); sys.exit(1)")
    assert stage.run_job() == 1
    assert stage.text("check.log") == "h3 gone j 8\n"
    assert "h2 true\n" in stage.text("ssh.log") and "h2 /" not in stage.text("ssh.log")


def test_an_elastic_job_that_is_stopped_waits_only_for_hosts_that_are_in(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=3, elastic={"min_np": 1, "max_np": None})
    stage.set_launcher_script(0, f"start(1, 'h2'); {ENDS}")
    stage.start()
    stage.until((tmp_path / "up").exists)
    stage.kill_host("h2")
    stage.until(lambda: "left" in stage.stderr_text())
    stage.stop()
    assert stage.wait() == 143
    assert stage.text("check.log") == "h3 gone j 8\n"


def test_a_stop_is_heard_while_stacks_are_collected(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hang_after_s=0.2, on_hang="kill")
    stage.touch("stacks/slow")
    stage.set_launcher_script(0, WAITS)
    stage.start()
    stage.until(lambda: stage.text("stacks.log") != "")
    stage.stop()
    assert stage.wait() == 143
    assert (stage.record()["state"], stage.record()["hang"]) == ("stopped", None)


def test_a_stop_is_heard_while_hosts_are_awaited(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic={"min_np": 1, "max_np": None})
    stage.kill_host("h2")
    stage.start()
    stage.until(lambda: "h2" in stage.text("ssh.log"))
    stage.stop()
    assert stage.wait() == 143
    assert (stage.record()["state"], stage.record()["attempts"]) == ("stopped", [])
