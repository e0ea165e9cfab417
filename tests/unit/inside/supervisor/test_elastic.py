"""The list of hosts that Horovod Elastic is shown, kept true while hosts come and go."""

import json
from pathlib import Path
from typing import Any

from supervisor_harness import SupervisorHarness, host_entry

ELASTIC = {"min_np": 1, "max_np": None}
WAITS = "start(0, 'h1'); start(1, 'h2'); wait_done(); end(1, 'h2', 0); end(0, 'h1', 0)"
HEAD, SECOND, THIRD = "127.0.0.1:1\n", "198.18.0.2:1\n", "198.18.0.3:1\n"


def started(tmp_path: Path, **resilience: Any) -> SupervisorHarness:  # Any: JSON
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC, **resilience)
    stage.set_launcher_script(0, WAITS)
    stage.start()
    stage.until((tmp_path / "argv-0.json").exists)
    return stage


def discovered(stage: SupervisorHarness) -> str:
    return (stage.run / "discovered").read_text()


def ended(stage: SupervisorHarness) -> int:
    stage.touch("done")
    return stage.wait()


def test_all_hosts_are_in_before_the_launcher_starts(tmp_path: Path) -> None:
    stage = started(tmp_path)
    assert discovered(stage) == HEAD + SECOND
    assert stage.argv(0) == ["-np", "2", "--network-interfaces", "lo", str(stage.bin / "rank"), "j"]
    assert ended(stage) == 0
    assert (stage.supervisor_lines(), stage.record()["lost_hosts"]) == ([], [])
    assert stage.text("ssh.log") == "h2 echo in; exec cat\n"


def test_a_job_that_succeeds_ends_when_no_rank_is_left_on_a_host_it_went_on_without(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC)
    stage.set_launcher_script(0, "start(0, 'h1'); start(1, 'h2'); end(0, 'h1', 0)")
    assert stage.run_job() == 0
    assert stage.text("check.log") == "h2 gone j 8\n"


def test_a_host_that_dies_leaves_and_one_that_is_back_takes_part(tmp_path: Path) -> None:
    stage = started(tmp_path)
    stage.kill_host("h2")
    stage.until(lambda: discovered(stage) == HEAD)
    stage.revive_host("h2")
    stage.until(lambda: discovered(stage) == HEAD + SECOND)
    assert ended(stage) == 0
    assert stage.supervisor_lines() == ["h2 left the job", "h2 is back and takes part"]


def test_a_host_that_is_gone_at_the_end_is_recorded(tmp_path: Path) -> None:
    stage = started(tmp_path)
    stage.kill_host("h2")
    stage.until(lambda: discovered(stage) == HEAD)
    assert ended(stage) == 0
    assert (stage.record()["state"], stage.record()["lost_hosts"]) == ("succeeded", ["h2"])


def test_a_host_that_up_adds_takes_part(tmp_path: Path) -> None:
    stage = started(tmp_path)
    fresh = stage.run / "hosts.new"
    fresh.write_text(json.dumps({"hosts": [*stage.hosts, host_entry(3)]}))
    fresh.replace(stage.run / "hosts.json")
    stage.until(lambda: discovered(stage) == HEAD + SECOND + THIRD)
    assert ended(stage) == 0
    assert stage.supervisor_lines() == ["h3 takes part"]


def test_a_file_of_hosts_that_is_no_such_thing_changes_nothing(tmp_path: Path) -> None:
    stage = started(tmp_path)
    (stage.run / "hosts.json").write_text("no JSON")
    stage.until(lambda: "cannot read" in stage.stderr_text())
    assert discovered(stage) == HEAD + SECOND
    assert ended(stage) == 0


def test_a_host_that_a_rule_drops_leaves_at_once_and_stays_out(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC, rules=[{"pattern": "ECC", "then": "drop"}])
    stage.set_launcher_script(0, f"start(1, 'h2'); line(1, 'ECC', 'stderr'); {WAITS}")
    stage.start()
    stage.until(lambda: (stage.run / "discovered").exists() and discovered(stage) == HEAD)
    assert ended(stage) == 0
    assert [line for line in stage.supervisor_lines() if "left" in line or "back" in line] == []
    assert stage.record()["dropped"][0]["host"] == "h2"


def test_an_elastic_job_that_fails_is_run_again_with_the_slots_that_are_there(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC, restarts=1)
    stage.set_launcher_script(0, "start(1, 'h2'); (stage / 'dead/h2').touch(); wait_done(); sys.exit(1)")
    stage.set_launcher_script(1, "start(0, 'h1'); end(0, 'h1', 0)")
    stage.start()
    stage.until(lambda: "left" in stage.stderr_text())
    assert ended(stage) == 0
    assert stage.argv(1)[:4] == ["-np", "1", "--network-interfaces", "lo"]
    assert stage.record()["attempts"][0]["lost_hosts"] == ["h2"]


def test_a_failure_is_not_blamed_on_a_host_that_the_job_had_replaced(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC, hosts=3)
    begins = "[start(n, f'h{n + 1}') for n in range(3)]; (stage / 'dead/h3').touch(); wait_for('missed')"
    stage.set_launcher_script(0, f"{begins}; end(1, 'h2', 137, signal=9); start(1, 'h2'); end(0, 'h1', 7); sys.exit(1)")
    stage.start()
    stage.until(lambda: "h3 left the job" in stage.stderr_text())
    stage.touch("missed")
    assert stage.wait() == 1
    record = stage.record()
    assert (record["lost_hosts"], record["first_failure"]["rank"]) == ([], 0)
    assert stage.supervisor_lines() == ["h3 left the job"]


def test_a_host_whose_loss_ends_the_job_is_named(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC)
    stage.set_launcher_script(
        0, "start(0, 'h1'); start(1, 'h2'); (stage / 'dead/h2').touch(); wait_done(); sys.exit(1)"
    )
    stage.start()
    stage.until(lambda: "h2 left the job" in stage.stderr_text())
    assert ended(stage) == 1
    assert stage.record()["lost_hosts"] == ["h2"]


def test_a_job_that_waits_for_slots_says_so_once(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, hosts=3, elastic={"min_np": 2, "max_np": None})
    stage.job["launcher"]["options"]["words"] += ["--elastic-timeout", "90"]
    stage.set_launcher_script(0, WAITS)
    stage.start()
    stage.until((tmp_path / "argv-0.json").exists)
    for host in ("h2", "h3"):
        stage.kill_host(host)
        stage.until(lambda host=host: f"{host} left the job" in stage.stderr_text())
    stage.revive_host("h2")
    stage.until(lambda: "enough again" in stage.stderr_text())
    assert ended(stage) == 0
    assert stage.supervisor_lines() == [
        "h2 left the job",
        "h3 left the job",
        "1 slot(s) left, at least 2 needed: waiting up to 90 s for a host (hvdocker up brings one back)",
        "h2 is back and takes part",
        "2 slot(s), at least 2 needed: there are enough again",
    ]
