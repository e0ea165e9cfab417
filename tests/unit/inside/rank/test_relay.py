"""A command's output on its way through the rank wrapper."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from inside.rank.masking import Masker
from inside.rank.relay import Relay
from inside.runtime.secrets import SecretError, read_secrets, remove_secrets, remove_secrets_on_hosts

LIB = Path(__file__).parents[4] / "images" / "doc-hvd" / "lib"
# The rank wrapper's wait for a real command, with masked output. It prints what the launcher would read; the
# first argument is the file of its own log.
WAIT = """
import os, signal, socket, subprocess, sys
from pathlib import Path
from hvdocker.protocol.rank_messages import RankWho
from inside.rank.heartbeat import Heartbeat
from inside.runtime.child import start
from inside.rank.usage import UsageMeter
from inside.rank.rank import relays_of
from inside.rank.log import RankLog
from inside.rank import link_watch
from inside.rank.wait import END_SIGNALS, RankWait
from inside.runtime.signals import SignalPipe
link_watch.LOOK_S, link_watch.GIVEN_UP_S = 0.05, 0.2
signals = SignalPipe((*END_SIGNALS, signal.SIGCHLD))
here, there = socket.socketpair()
child = start(sys.argv[2:], os.environ, "/", 60, subprocess.PIPE)
out, err = relays_of(child, (b"s3cr3t",), RankLog(Path(sys.argv[1]), print))
watch = link_watch.LinkWatch(os.environ, Path(os.environ.get("NET", "/")))
wait = RankWait(signals, here, (out, err), watch)
wait.wait_for_end(child, Heartbeat(RankWho(0, "a", "x"), UsageMeter(child.pid, 2), (err, out), 600))
how = child.reap()
wait.drain()
# An interpreter that is shutting down has no signal handlers any more.
os._exit(how.code)
"""


def run_wait(*command: str, kept: str = "/dev/null", **env: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", WAIT, kept, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(LIB), **env},
    )


def test_streams_stay_apart_and_the_last_bytes_are_there() -> None:
    script = "printf 'out s3cr3t s3c'; printf 'err s3cr3t s3' >&2; exit 3"
    process = run_wait("sh", "-c", script)
    assert process.communicate(timeout=60) == (b"out *** s3c", b"err *** s3")
    assert process.returncode == 3


def test_much_output_for_a_slow_reader_arrives_whole() -> None:
    process = run_wait("sh", "-c", "seq 200000; echo s3cr3t")
    out, _ = process.communicate(timeout=60)
    assert out == b"".join(b"%d\n" % number for number in range(1, 200001)) + b"***\n"


def test_a_part_of_a_line_is_passed_on_at_once() -> None:
    process = run_wait("sh", "-c", "printf 'a prompt> '; sleep 600")
    assert process.stdout is not None
    assert os.read(process.stdout.fileno(), 100) == b"a prompt> "
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143


def test_what_a_command_leaves_behind_cannot_keep_the_rank() -> None:
    process = run_wait("sh", "-c", "setsid sleep 30 & echo left")
    assert process.communicate(timeout=25)[0] == b"left\n"
    assert process.returncode == 0


def test_a_reader_that_is_gone_ends_the_command() -> None:
    process = run_wait("sh", "-c", "echo ready; while :; do sleep 1; done")
    assert process.stdout is not None and process.stderr is not None
    assert os.read(process.stdout.fileno(), 100) == b"ready\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 143
    process.stderr.close()


def test_last_words_are_kept_though_nobody_reads_them(tmp_path: Path) -> None:
    script = """
    trap 'i=0; while [ $i -lt 3000 ]; do echo "the last words of s3cr3t $i"; i=$((i+1)); done; exit 9' TERM
    echo ready; while :; do sleep 0.1; done
    """
    process = run_wait("sh", "-c", script, kept=str(tmp_path / "kept"))
    assert process.stdout is not None and process.stderr is not None
    assert os.read(process.stdout.fileno(), 100) == b"ready\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 9
    process.stderr.close()
    # The shell may say on stderr that its sleep was ended, wherever that arrives.
    lines = [line for line in (tmp_path / "kept").read_text().splitlines() if line != "Terminated"]
    assert lines == ["ready", *(f"the last words of *** {number}" for number in range(3000))]


def test_a_reader_that_stops_reading_stops_the_command_and_loses_nothing(tmp_path: Path) -> None:
    script = "import sys; sys.stdout.write('x' * 300000); sys.stdout.flush(); sys.stderr.write('done')"
    process = run_wait(sys.executable, "-c", script, kept=str(tmp_path / "kept"))
    assert process.stdout is not None and process.stderr is not None
    # What the pipes and the relay hold is less than the command has to write: it cannot be done.
    assert os.read(process.stdout.fileno(), 1) == b"x"
    assert not select.select([process.stderr], [], [], 0)[0]
    out, err = process.communicate(timeout=60)
    assert (len(out), err) == (299999, b"done")
    kept = (tmp_path / "kept").read_bytes()
    assert (kept.count(b"x"), kept.count(b"done"), len(kept)) == (300000, 1, 300004)


def test_a_reader_that_does_not_read_cannot_keep_the_command_from_ending(tmp_path: Path) -> None:
    process = run_wait("sh", "-c", "yes", kept=str(tmp_path / "kept"))
    assert process.stdout is not None and process.stderr is not None
    os.read(process.stdout.fileno(), 100)
    process.terminate()
    # The rest waits for the reader, until it is asked once more.
    while process.poll() is None:
        process.terminate()
        select.select([], [], [], 0.05)
    assert process.returncode == 143
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize("script", ["yes", "echo begun; exec sleep 600"])
def test_a_launcher_that_is_not_reached_ends_the_command_though_nobody_reads(script: str, tmp_path: Path) -> None:
    env = {"SSH_CONNECTION": "198.18.0.11 33354 198.18.0.12 12345", "NET": str(tmp_path)}
    process = run_wait("sh", "-c", script, kept=str(tmp_path / "kept"), **env)
    assert process.stdout is not None
    os.read(process.stdout.fileno(), 6)
    assert process.poll() is None
    (tmp_path / "tcp").write_text("   1: 0C0012C6:3039 0B0012C6:824A 01 0018C:0 01:00123 00000006  1000 0 1\n")
    assert process.wait(timeout=60) == 143
    process.communicate()


def test_what_is_left_behind_and_never_silent_is_not_heard_for_ever() -> None:
    process = run_wait("sh", "-c", "setsid yes & echo left")
    assert b"left\n" in process.communicate(timeout=60)[0]
    assert process.returncode == 0


def test_bytes_that_are_no_text_pass() -> None:
    process = run_wait("sh", "-c", r"printf '\377\000\376'")
    assert process.communicate(timeout=60)[0] == b"\xff\x00\xfe"


def test_a_line_of_ours_goes_between_lines() -> None:
    source, feed = os.pipe()
    reader, target = os.pipe()
    relay = Relay(source, target, Masker(()))
    os.write(feed, b"half")
    relay.read_or_write()
    relay.read_or_write()
    assert not relay.is_between_lines
    relay.insert(b"ours\n")
    relay.read_or_write()
    assert os.read(reader, 100) == b"half\nours\n"
    for fd in (source, feed, reader, target):
        os.close(fd)


def passed_on(*writes: bytes) -> list[bytes]:
    """What a relay passes on after every write of the command."""
    source, feed = os.pipe()
    reader, target = os.pipe()
    relay = Relay(source, target, Masker(()))
    found = []
    for data in writes:
        os.write(feed, data)
        relay.read_or_write()
        while relay.is_writing:
            relay.read_or_write()
        os.write(target, b"|")
        found.append(os.read(reader, 1 << 16).removesuffix(b"|"))
    for fd in (source, feed, reader, target):
        os.close(fd)
    return found


@pytest.mark.parametrize(
    ("writes", "passed"),
    [
        # tqdm: the launcher would hold each state back until the next one.
        ((b"\r10%", b"\r20%", b"\r30%\n"), [b"\r10%\r", b"20%\r", b"30%\n"]),
        ((b"\r100%", b"\n", b"next"), [b"\r100%\r", b"100%\n", b"next"]),
        ((b"10%\r", b"20%\r", b"done\n"), [b"10%\r", b"20%\r", b"done\n"]),
        ((b"\r1", b"0%", b"\r", b"20%\n"), [b"\r1\r", b"10%\r", b"", b"20%\n"]),
        ((b"half", b" a line\n"), [b"half", b" a line\n"]),
        ((b"\r" + b"x" * 2000, b"y\n"), [b"\r" + b"x" * 2000, b"y\n"]),
    ],
)
def test_a_state_of_a_progress_bar_is_ended_when_it_is_written(writes: tuple[bytes, ...], passed: list[bytes]) -> None:
    assert passed_on(*writes) == passed


def test_a_long_line_after_a_carriage_return_is_passed_on_whole() -> None:
    assert b"".join(passed_on(b"\r" + b"A" * 1100, b"BBB", b"CCC", b"\n")) == b"\r" + b"A" * 1100 + b"BBBCCC\n"


def test_a_relay_without_a_reader_goes_on_reading() -> None:
    source, feed = os.pipe()
    reader, target = os.pipe()
    os.close(reader)
    relay = Relay(source, target, Masker((b"s3cr3t",)))
    os.write(feed, b"words")
    assert relay.interest() == (source, select.POLLIN)
    relay.read_or_write()
    assert relay.interest() == (target, select.POLLOUT)
    relay.read_or_write()
    assert relay.interest() == (source, select.POLLIN)
    os.close(feed)
    relay.read_or_write()
    assert relay.is_done
    os.close(source)
    os.close(target)


def test_secrets_are_read_and_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "secrets" / "job-a"
    folder.mkdir(parents=True)
    (folder / "TOKEN").write_bytes(b"s3cr3t\n")
    (folder / "TOKEN").chmod(0o400)
    (tmp_path / "secrets" / "job-b").mkdir()
    assert read_secrets("job-a", ["TOKEN"], tmp_path) == [b"s3cr3t\n"]
    remove_secrets("job-a", tmp_path)
    remove_secrets("job-a", tmp_path)
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["job-b"]
    with pytest.raises(SecretError, match=r"TOKEN: No such file"):
        read_secrets("job-a", ["TOKEN"], tmp_path)
    assert read_secrets("job-a", [], tmp_path) == []


def test_with_no_other_host_there_is_nobody_to_ask() -> None:
    assert remove_secrets_on_hosts("job-a", ()) == []
