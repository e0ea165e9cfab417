"""An ask to stop is heard in every phase of a job."""

from pathlib import Path

from stage import Stage

WAITS = "start(0, 'h1'); (stage / 'up').touch(); hang()"
STUBBORN = "signal.signal(signal.SIGTERM, lambda *_: (stage / 'asked').touch()); " + WAITS
FAILS = "start(1, 'h2'); end(1, 'h2', 3); sys.exit(1)"


def test_a_job_is_stopped_with_grace(tmp_path: Path) -> None:
    stage = Stage(tmp_path, restarts=3)
    stage.plan(0, f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); {WAITS}")
    stage.start()
    stage.until((tmp_path / "up").exists)
    stage.stop()
    assert stage.wait() == 143
    record = stage.record()
    assert (record["state"], record["code"], record["launcher_code"]) == ("stopped", 143, 5)
    assert len(record["attempts"]) == 1


def test_asked_twice_it_ends_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.job["grace_s"] = 600
    stage.plan(0, STUBBORN)
    stage.start()
    stage.until((tmp_path / "up").exists)
    stage.stop()
    stage.until((tmp_path / "asked").exists)
    stage.stop()
    assert stage.wait() == 143
    assert stage.record()["launcher_code"] == 137


def test_a_stop_is_heard_while_the_last_run_is_cleared_up(tmp_path: Path) -> None:
    stage = Stage(tmp_path, restarts=3)
    stage.job["grace_s"] = 600
    stage.touch("busy")
    stage.plan(0, FAILS)
    stage.start()
    stage.until(lambda: "gone j" in stage.text("check.log"))
    stage.stop()
    assert stage.wait() == 143
    record = stage.record()
    assert (record["state"], len(record["attempts"]), stage.ours()) == ("stopped", 1, [])


def test_a_stop_is_heard_while_stacks_are_collected(tmp_path: Path) -> None:
    stage = Stage(tmp_path, hang_after_s=0.2, on_hang="kill")
    stage.touch("stacks/slow")
    stage.plan(0, WAITS)
    stage.start()
    stage.until(lambda: stage.text("stacks.log") != "")
    stage.stop()
    assert stage.wait() == 143
    assert (stage.record()["state"], stage.record()["hang"]) == ("stopped", None)


def test_a_stop_is_heard_while_hosts_are_awaited(tmp_path: Path) -> None:
    stage = Stage(tmp_path, elastic={"min_np": 1, "max_np": None})
    stage.kill_host("h2")
    stage.start()
    stage.until(lambda: "h2" in stage.text("ssh.log"))
    stage.stop()
    assert stage.wait() == 143
    assert (stage.record()["state"], stage.record()["attempts"]) == ("stopped", [])
