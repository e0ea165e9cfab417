"""A command's output on its way through the rank wrapper."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from inside.masking import Masker
from inside.relay import Relay
from inside.secrets import SecretError, forget_elsewhere, forget_secrets, read_secrets

LIB = Path(__file__).parents[3] / "images" / "doc-hvd" / "lib"
# The vigil of the rank wrapper over a real command, masked; what it prints is what the launcher would read.
VIGIL = """
import os, signal, socket, subprocess, sys
from inside.child import start
from inside.rank import ENDING, Vigil, masked
from inside.wakeups import Wakeups
wakeups = Wakeups((*ENDING, signal.SIGCHLD))
here, there = socket.socketpair()
child = start(sys.argv[1:], os.environ, "/", 60, subprocess.PIPE)
vigil = Vigil(wakeups, here, masked(child, (b"s3cr3t",)))
vigil.keep(child)
how = child.reap()
vigil.drain()
sys.exit(how.code)
"""


def vigil(*command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", VIGIL, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(LIB)},
    )


def test_streams_stay_apart_and_the_last_bytes_are_there() -> None:
    script = "printf 'out s3cr3t s3c'; printf 'err s3cr3t s3' >&2; exit 3"
    process = vigil("sh", "-c", script)
    assert process.communicate(timeout=60) == (b"out *** s3c", b"err *** s3")
    assert process.returncode == 3


def test_much_output_for_a_slow_reader_arrives_whole() -> None:
    process = vigil("sh", "-c", "seq 200000; echo s3cr3t")
    out, _ = process.communicate(timeout=60)
    assert out == b"".join(b"%d\n" % number for number in range(1, 200001)) + b"***\n"


def test_a_part_of_a_line_is_passed_on_at_once() -> None:
    process = vigil("sh", "-c", "printf 'a prompt> '; sleep 600")
    assert process.stdout is not None
    assert os.read(process.stdout.fileno(), 100) == b"a prompt> "
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143


def test_what_a_command_leaves_behind_cannot_keep_the_rank() -> None:
    process = vigil("sh", "-c", "setsid sleep 30 & echo left")
    assert process.communicate(timeout=25)[0] == b"left\n"
    assert process.returncode == 0


def test_a_reader_that_is_gone_ends_the_command() -> None:
    process = vigil("sh", "-c", "echo ready; while :; do sleep 1; done")
    assert process.stdout is not None and process.stderr is not None
    assert os.read(process.stdout.fileno(), 100) == b"ready\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 143
    process.stderr.close()


def test_a_relay_without_a_reader_goes_on_reading() -> None:
    source, feed = os.pipe()
    reader, target = os.pipe()
    os.close(reader)
    relay = Relay(source, target, Masker((b"s3cr3t",)))
    os.write(feed, b"words")
    assert relay.interest() == (source, select.POLLIN)
    relay.turn()
    assert relay.interest() == (target, select.POLLOUT)
    relay.turn()
    assert relay.interest() == (source, select.POLLIN)
    os.close(feed)
    relay.turn()
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
    forget_secrets("job-a", tmp_path)
    forget_secrets("job-a", tmp_path)
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["job-b"]
    with pytest.raises(SecretError, match=r"TOKEN: No such file"):
        read_secrets("job-a", ["TOKEN"], tmp_path)
    assert read_secrets("job-a", [], tmp_path) == []


def test_with_no_other_host_there_is_nobody_to_ask() -> None:
    assert forget_elsewhere("job-a", ()) == []
