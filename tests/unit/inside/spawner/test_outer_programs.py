"""Ranks that another program starts (torchrun, mpirun): they send their output to the agent over its socket. The
programs are fakes that start real rank wrappers."""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from spawn_harness import WAIT_S, SpawnHarness

# Starts ranks as torchrun does: in sessions of their own, with the output of torchrun itself. An elastic one starts
# them again after a failure, for the hosts that the test names in the file `round`.
TORCHRUN = """
import os, signal, subprocess, sys, time
from pathlib import Path
folder = Path({folder!r})
words = sys.argv[1:]
value = lambda flag: words[words.index(flag) + 1]
command = words[words.index("--no-python") + 1:]
home = Path(os.environ["HOME"])
(home / "torchrun.pid").write_text(str(os.getpid()))
print("torchrun", *words[:words.index("--no-python")], flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
children = []
def begin():
    nodes = (folder / "round").read_text().split()
    first = sum(int(os.environ.get("SHARE", "1")) for _ in nodes[:nodes.index(home.name)])
    for local in range(int(value("--nproc-per-node"))):
        env = dict(os.environ, RANK=str(first + local), LOCAL_RANK=str(local), GROUP_WORLD_SIZE=str(len(nodes)))
        children.append(subprocess.Popen(command, env=env, start_new_session=True))
try:
    begin()
    while children:
        time.sleep(0.02)
        codes = [child.poll() for child in children]
        if any(codes):
            for child in children:
                child.terminate()
            for child in children:
                child.wait()
            children = []
            if value("--max-restarts") == "0":
                sys.exit(1)
            while not (folder / "go").exists():
                time.sleep(0.02)
            begin()
        elif all(code == 0 for code in codes):
            sys.exit(0)
finally:
    for child in children:
        child.terminate()
    for child in children:
        child.wait()
"""


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SpawnHarness]:
    made = SpawnHarness(tmp_path, 1, 1)
    made.program("torchrun", TORCHRUN.format(folder=str(tmp_path)))
    (tmp_path / "round").write_text("h1 h2")
    yield made
    made.close()
    made.until(lambda: not made.left_over())


def write_job(harness: SpawnHarness, text: str, **more: object) -> None:
    write_command(harness, ["sh", "-c", f": {harness.folder}; {text}"], **more)


def write_command(harness: SpawnHarness, command: list[str], **more: object) -> None:
    harness.write_job(command, "torchrun", **{"options": {}, **more})
    for host in ("h1", "h2"):
        path = f"{harness.bin}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        (harness.folder / host / "image.env").write_bytes(f"PATH={path}\0HOME={harness.folder / host}\0".encode())


def rank_lines(harness: SpawnHarness) -> list[str]:
    return [line for line in harness.lines() if line.startswith("[")]


def test_ranks_of_torchrun_have_headers_and_torchrun_has_none(harness: SpawnHarness) -> None:
    write_job(harness, "echo rank $RANK; echo no >&2")
    assert harness.start().wait(WAIT_S) == 0
    assert sorted(rank_lines(harness)) == ["[0]<stdout>:rank 0", "[1]<stdout>:rank 1"]
    assert sorted(harness.errors()) == ["[0]<stderr>:no", "[1]<stderr>:no"]
    own = [line for line in harness.lines() if not line.startswith("[")]
    assert [line.split()[0] for line in own] == ["torchrun", "torchrun"]


def test_long_lines_of_several_ranks_are_not_mixed(harness: SpawnHarness) -> None:
    """The program that started the ranks shares one output between them."""
    text = "import os\nfor n in range(100): os.write(1, (os.environ['RANK'] * 20000 + '\\n').encode())"
    write_command(harness, [sys.executable, "-c", text])
    assert harness.start().wait(WAIT_S) == 0
    assert Counter(rank_lines(harness)) == {f"[{rank}]<stdout>:{str(rank) * 20000}": 100 for rank in (0, 1)}


def test_a_failing_torchrun_ends_the_others(harness: SpawnHarness) -> None:
    write_job(harness, "[ $RANK = 1 ] && exit 7; sleep 600; true")
    assert harness.start().wait(WAIT_S) == 1
    exits = [line for line in (harness.folder / "stderr").read_text().split("\n") if "rank-exit" in line]
    assert json.loads(exits[0].partition("hvdocker ")[2])["code"] == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
@pytest.mark.parametrize("who", ["spawner", "h1/torchrun.pid", "h2/torchrun.pid", "h2/agent.pid", "h2/ssh.pid"])
def test_no_rank_outlives_torchrun_or_what_started_it(harness: SpawnHarness, who: str, number: int) -> None:
    write_job(harness, "echo in; sleep 600; true")
    process = harness.start()
    harness.until(lambda: len(rank_lines(harness)) == 2)
    if who == "spawner":
        process.send_signal(number)
    else:
        harness.kill(who, number)
    assert process.wait(WAIT_S) != 0
    harness.until(lambda: not harness.left_over())


def write_hosts(harness: SpawnHarness, *hosts: str) -> None:
    """Write the list of hosts as the supervisor does."""
    fresh = harness.folder / "h1" / "discovered.new"
    fresh.write_text("".join(f"127.0.0.{host[1:]}:1\n" for host in hosts))
    fresh.replace(harness.folder / "h1" / "discovered")


def start_elastic(harness: SpawnHarness) -> None:
    for number, host in enumerate(harness.hosts, start=1):
        host["address"] = f"127.0.0.{number}"
    done = harness.folder / "done"
    text = f"echo on $HVDOCKER_HOST of $GROUP_WORLD_SIZE; while [ ! -e {done} ]; do sleep 0.02; done"
    write_job(harness, text, endurance={"elastic": {"min_np": 1, "max_np": 2}})
    write_hosts(harness, "h1", "h2")
    harness.start()
    harness.until(lambda: len(rank_lines(harness)) == 2)


def test_an_elastic_job_goes_on_without_a_lost_host_and_takes_it_in_again(harness: SpawnHarness) -> None:
    start_elastic(harness)
    (harness.folder / "round").write_text("h1")
    (harness.folder / "go").touch()
    (harness.folder / "dead" / "h2").touch()
    harness.until(lambda: rank_lines(harness)[2:] == ["[0]<stdout>:on h1 of 1"])
    write_hosts(harness, "h1")
    (harness.folder / "dead" / "h2").unlink()
    (harness.folder / "round").write_text("h1 h2")
    # The list without the host was read before the host comes back.
    first = harness.pid("h2/torchrun.pid")
    harness.until(lambda: "hvdocker: the connection to h2 is lost" in harness.errors())
    (harness.folder / "h2" / "torchrun.pid").unlink()
    write_hosts(harness, "h1", "h2")
    assert harness.pid("h2/torchrun.pid") != first
    harness.until(lambda: "[1]<stdout>:on h2 of 2" in rank_lines(harness)[3:])
    (harness.folder / "done").touch()
    assert harness.process is not None
    assert harness.process.wait(WAIT_S) == 0


def test_an_elastic_job_without_its_head_fails(harness: SpawnHarness) -> None:
    start_elastic(harness)
    harness.kill("h1/agent.pid")
    assert harness.process is not None
    assert harness.process.wait(WAIT_S) == 255


def test_an_elastic_job_ends_when_torchrun_gives_up(harness: SpawnHarness) -> None:
    start_elastic(harness)
    harness.kill("h2/torchrun.pid")
    assert harness.process is not None
    assert harness.process.wait(WAIT_S) == 137
