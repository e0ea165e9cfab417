"""A whole spawner with its agents and rank wrappers, as real processes on this machine."""

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from spawn_harness import WAIT_S, SpawnHarness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SpawnHarness]:
    made = SpawnHarness(tmp_path, 2, 1)
    yield made
    made.close()
    made.until(lambda: not made.left_over())


def python(text: str, *words: str) -> list[str]:
    return [sys.executable, "-c", text, *words]


def sleeper(harness: SpawnHarness) -> list[str]:
    """A rank that writes that it runs, and then waits. Its command line names the test's folder."""
    return ["sh", "-c", f": {harness.folder}; echo in $RANK; sleep 600; true"]


def wait_for_ranks(harness: SpawnHarness, count: int = 3) -> None:
    harness.until(lambda: len(harness.lines()) == count)


def test_all_ranks_run_and_their_lines_have_headers(harness: SpawnHarness) -> None:
    text = 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, on $GROUP_RANK $HVDOCKER_HOST"; echo no >&2'
    assert harness.run_job(["sh", "-c", text]) == 0
    assert sorted(harness.lines()) == [
        "[0]<stdout>:0 of 3, 0 of 2, on 0 h1",
        "[1]<stdout>:1 of 3, 1 of 2, on 0 h1",
        "[2]<stdout>:2 of 3, 0 of 1, on 1 h2",
    ]
    assert sorted(harness.errors()) == ["[0]<stderr>:no", "[1]<stderr>:no", "[2]<stderr>:no"]


def test_no_line_is_lost_or_cut(harness: SpawnHarness) -> None:
    """Long lines, lines in pieces, a last line without its end, from all ranks at once."""
    text = """
import os, sys
rank = os.environ["RANK"]
for number in range(300):
    length = (number % 7) * 3000
    for piece in (f"<{number} {rank} ", "x" * length, " ", rank, ">\\n"):
        os.write(1, piece.encode())
os.write(1, b"<last " + rank.encode() + b">")
"""
    assert harness.run_job(python(text)) == 0
    wanted = Counter(
        f"[{rank}]<stdout>:<{number} {rank} {'x' * ((number % 7) * 3000)} {rank}>"
        for rank in range(3)
        for number in range(300)
    )
    wanted.update(f"[{rank}]<stdout>:<last {rank}>" for rank in range(3))
    assert Counter(harness.lines()) == wanted


def test_the_states_of_a_progress_bar_have_headers(harness: SpawnHarness) -> None:
    assert harness.run_job(["sh", "-c", "[ $RANK = 2 ] && printf '10%%\\r20%%\\r\\n' || true"]) == 0
    assert (harness.folder / "stdout").read_bytes() == b"[2]<stdout>:10%\r[2]<stdout>:20%\r[2]<stdout>:\n"


def test_the_first_failure_ends_all_other_ranks(harness: SpawnHarness) -> None:
    text = f": {harness.folder}; [ $RANK = 2 ] && exit 7; sleep 600; true"
    assert harness.run_job(["sh", "-c", text]) == 7
    assert not harness.left_over()


def test_a_silent_rank_does_not_delay_the_others(harness: SpawnHarness) -> None:
    """Rank 0 begins a line and waits; the lines of others arrive all the same."""
    done = harness.folder / "done"
    text = f'printf begun; [ $RANK = 0 ] || echo " whole"; while [ ! -e {done} ]; do sleep 0.02; done'
    harness.write_job(["sh", "-c", text])
    process = harness.start()
    harness.until(lambda: len(harness.lines()) == 2)
    done.touch()
    assert process.wait(WAIT_S) == 0
    assert "[0]<stdout>:begun" in harness.lines()


def test_a_pool_runs_more_ranks_than_slots_and_goes_on_after_a_failure(harness: SpawnHarness) -> None:
    text = "echo $RANK of $WORLD_SIZE; [ $RANK != 1 ] || exit 5; [ $RANK != 4 ] || exit 6"
    assert harness.run_job(["sh", "-c", text], np=8, options={}) == 5
    assert sorted(harness.lines()) == [f"[{rank}]<stdout>:{rank} of 8" for rank in range(8)]


def test_a_pool_goes_on_without_a_lost_host(harness: SpawnHarness) -> None:
    done = harness.folder / "done"
    text = f": {harness.folder}; echo on $HVDOCKER_HOST; while [ ! -e {done} ]; do sleep 0.02; done"
    harness.write_job(["sh", "-c", text], np=6, options={})
    process = harness.start()
    wait_for_ranks(harness)
    harness.kill("h2/agent.pid")
    harness.until(lambda: "hvdocker: the connection to h2 is lost" in harness.errors())
    done.touch()
    assert process.wait(WAIT_S) == 255
    assert Counter(line.split(":")[1] for line in harness.lines()) == {"on h1": 5, "on h2": 1}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("who", ["spawner", "h1/agent.pid", "h2/agent.pid", "h2/ssh.pid"])
def test_no_rank_outlives_its_spawner_agent_or_connection(harness: SpawnHarness, who: str, number: int) -> None:
    harness.write_job(sleeper(harness))
    process = harness.start()
    wait_for_ranks(harness)
    if who == "spawner":
        process.send_signal(number)
    else:
        harness.kill(who, number)
    code = process.wait(WAIT_S)
    harness.until(lambda: not harness.left_over())
    if who == "spawner":
        assert code == (143 if number == signal.SIGTERM else -signal.SIGKILL)
    else:
        assert code != 0
    if who == "h2/ssh.pid":
        assert "hvdocker: rank 2 failed: exit code 255" in harness.errors()


@pytest.mark.parametrize(("restarts", "are_left"), [(0, False), (1, True)], ids=["the job is over", "it restarts"])
def test_secrets_go_with_the_ranks_if_the_spawner_is_killed(
    harness: SpawnHarness, restarts: int, are_left: bool
) -> None:
    """On the other hosts: no supervisor is left that could remove them there."""
    harness.write_job(sleeper(harness), endurance={"restarts": restarts})
    secrets = [harness.folder / str(host["name"]) / "secrets" / "j" for host in harness.hosts]
    for folder in secrets:
        folder.mkdir(parents=True)
    process = harness.start()
    wait_for_ranks(harness)
    process.kill()
    process.wait(WAIT_S)
    harness.until(lambda: not harness.left_over())
    assert [folder.exists() for folder in secrets] == [are_left] * len(secrets)


def test_secrets_stay_for_the_supervisor_if_the_spawner_ends_a_job(harness: SpawnHarness) -> None:
    secrets = harness.folder / "h2" / "secrets" / "j"
    secrets.mkdir(parents=True)
    assert harness.run_job(["true"]) == 0
    assert secrets.exists()


def test_a_rank_wrapper_that_is_killed_is_named(harness: SpawnHarness) -> None:
    """Both of its processes: the inner one is the parent of the command."""
    both = "$(cut -d' ' -f4 /proc/$PPID/stat) $PPID"
    text = f": {harness.folder}; [ $RANK != 1 ] || kill -9 {both}; sleep 600; true"
    assert harness.run_job(["sh", "-c", text]) == 137
    assert "hvdocker: rank 1 failed: exit code 137" in harness.errors()


def test_each_rank_wrapper_of_a_pool_that_is_killed_is_named(harness: SpawnHarness) -> None:
    both = "$(cut -d' ' -f4 /proc/$PPID/stat) $PPID"
    text = f": {harness.folder}; [ $RANK != 0 ] || exit 5; [ $RANK = 3 ] || kill -9 {both}; true"
    harness.run_job(["sh", "-c", text], np=4, options={})
    named = [line for line in harness.errors() if "failed" in line]
    assert sorted(named) == [f"hvdocker: rank {rank} failed: exit code 137" for rank in (1, 2)]


def test_a_host_that_is_dead_from_the_start_fails_the_run(harness: SpawnHarness) -> None:
    (harness.folder / "dead" / "h2").touch()
    assert harness.run_job(sleeper(harness)) == 255
    assert "hvdocker: rank 2 failed: exit code 255" in harness.errors()


def test_a_program_that_is_missing_is_named(harness: SpawnHarness) -> None:
    (harness.bin / "rank").unlink()
    assert harness.run_job(["true"]) == 127
    assert f"hvdocker: command not found: {harness.bin}/rank" in harness.errors()


def chatter(harness: SpawnHarness) -> list[str]:
    """A rank that writes far more than all buffers hold."""
    text = f"import os\nfor number in range(4000): os.write(1, b'{harness.folder}' + b'x' * 4000 + b'\\n')"
    return python(text)


def test_a_slow_reader_gets_all_lines(harness: SpawnHarness) -> None:
    harness.write_job(chatter(harness))
    reader, writer = os.pipe()
    process = harness.start(writer)
    os.close(writer)
    # The ranks have ended their writing only when this side reads.
    harness.until(lambda: len(harness.left_over()) > 6)
    lines = 0
    with os.fdopen(reader, "rb") as stream:
        for line in stream:
            lines += line.count(b"x" * 4000)
    assert (process.wait(WAIT_S), lines) == (0, 12000)


@pytest.mark.parametrize("how", ["stop", "hang-up"])
def test_a_reader_that_does_not_read_does_not_keep_the_ranks(harness: SpawnHarness, how: str) -> None:
    harness.write_job(chatter(harness), grace_s=1)
    reader, writer = os.pipe()
    process = harness.start(writer)
    os.close(writer)
    harness.until(lambda: len(harness.left_over()) > 6)
    if how == "stop":
        process.terminate()
    else:
        os.close(reader)
    assert process.wait(WAIT_S) == 143
    harness.until(lambda: not harness.left_over())
    if how == "stop":
        os.close(reader)


def test_a_rank_that_ignores_the_request_is_killed(harness: SpawnHarness) -> None:
    text = f": {harness.folder}; trap '' TERM; echo in; while true; do sleep 0.1; done"
    harness.write_job(["sh", "-c", text], grace_s=0.5)
    process = harness.start()
    wait_for_ranks(harness)
    process.terminate()
    assert process.wait(WAIT_S) == 143
    assert not harness.left_over()
