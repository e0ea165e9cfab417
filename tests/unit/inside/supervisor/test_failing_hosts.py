"""Hosts whose ranks fail whenever they start."""

from pathlib import Path
from typing import Any

from inside.supervisor.failing_hosts import FailingHosts
from supervisor_harness import SupervisorHarness

ELASTIC = {"min_np": 1, "max_np": None}


def end(host: str, **more: Any) -> dict[str, Any]:  # Any: JSON
    return {"event": "rank-exit", "rank": 1, "host": host, "code": 3, "signal": None, "seconds": 2.0, **more}


def test_the_third_quick_failure_in_a_row_drops_a_host() -> None:
    dropped: list[str] = []
    strikes = FailingHosts("h1", dropped.append)
    assert [strikes.note_exit(end("h2"), True) for _ in range(2)] == [False, False]
    strikes.note_exit(end("h3"), True)
    strikes.note_exit(end("h2"), False)
    assert dropped == []
    assert not strikes.note_exit(end("h2", code=137, signal=9), True)
    assert dropped == ["h2"]
    assert strikes.dropped["h2"].as_json() == {
        "host": "h2", "times": 3, "how": "signal SIGKILL", "then": "drop",
    }  # fmt: skip


def test_a_rank_that_lived_a_while_and_a_host_that_left_begin_again() -> None:
    dropped: list[str] = []
    strikes = FailingHosts("h1", dropped.append)
    for host, seconds in (("h2", 2.0), ("h2", 2.0), ("h2", 61.0), ("h2", 2.0), ("h2", 2.0)):
        strikes.note_exit(end(host, seconds=seconds), True)
    strikes.reset("h2")
    strikes.note_exit(end("h2"), True)
    assert (dropped, strikes.dropped) == ([], {})


def test_the_head_is_not_dropped_it_ends_the_run() -> None:
    dropped: list[str] = []
    strikes = FailingHosts("h1", dropped.append)
    assert [strikes.note_exit(end("h1"), True) for _ in range(3)] == [False, False, True]
    strikes.begin()
    assert [strikes.note_exit(end("h1"), True) for _ in range(3)] == [False, False, True]
    assert dropped == []


def failing(rank: int, host: str, **more: Any) -> str:  # Any: JSON
    words = "".join(f", {name}={value!r}" for name, value in more.items())
    return f"start({rank}, {host!r}); end({rank}, {host!r}, 3, seconds=1.0{words})"


def test_an_elastic_job_goes_on_without_a_host_that_fails_at_every_start(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC)
    stage.set_launcher_script(
        0, f"start(0, 'h1'); [({failing(1, 'h2').replace('; ', ', ')}) for _ in range(3)]; wait_done()"
    )
    stage.start()
    stage.until(lambda: "dropped" in stage.stderr_text())
    stage.until(lambda: (stage.run / "discovered").read_text() == "127.0.0.1:1\n")
    stage.touch("done")
    assert stage.wait() == 0
    assert stage.supervisor_lines()[0] == (
        "h2 is dropped from the job: a rank failed 3 times in a row within a minute of its start (last: exit code 3)"
    )
    assert [one["host"] for one in stage.record()["struck"]] == ["h2"]
    assert stage.record()["lost_hosts"] == []


def test_ranks_that_were_asked_to_end_are_held_against_nobody(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC)
    ends = failing(1, "h2", asked=True)
    stage.set_launcher_script(0, f"start(0, 'h1'); {'; '.join([ends] * 4)}")
    assert stage.run_job() == 0
    assert (stage.supervisor_lines(), stage.record()["struck"]) == ([], [])


def test_a_head_that_fails_at_every_start_ends_the_run(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path, elastic=ELASTIC, restarts=1)
    head = "; ".join([failing(0, "h1")] * 3)
    stage.set_launcher_script(
        0, f"start(1, 'h2'); signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); {head}; hang()"
    )
    stage.set_launcher_script(1, "start(0, 'h1'); end(0, 'h1', 0)")
    assert stage.run_job() == 0
    given_up, again = stage.supervisor_lines()
    assert given_up.startswith("h1, the head, cannot be dropped") and given_up.endswith("ending the run")
    assert again.startswith("run 1 failed (rank 0 on h1: exit code 3); running it again on h1:1,h2:1")


def test_without_elastic_nothing_is_counted(tmp_path: Path) -> None:
    stage = SupervisorHarness(tmp_path)
    stage.set_launcher_script(0, "; ".join([failing(1, "h2")] * 4) + "; sys.exit(1)")
    assert stage.run_job() == 1
    assert (stage.supervisor_lines(), stage.record()["struck"]) == ([], [])
