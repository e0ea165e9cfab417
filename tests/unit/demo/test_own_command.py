"""The demo's commands are processes of this hvdocker; Ctrl-C reaches the one that runs, once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hvdocker.demo.own_command import OwnCommands

ROOT = Path(__file__).parents[3]


def test_a_command_runs_in_the_folder_and_gives_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text("hosts: [127.0.0.1]\n")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HVDOCKER_INVENTORY": "/elsewhere.yaml"}
    commands = OwnCommands(tmp_path, environ)
    assert [commands.run(words) for words in (("config",), ("nosuchverb",))] == [0, 2]
    assert not commands.is_interrupted


SCRIPT = f"""
import os, signal, sys
sys.path[0] = {str(ROOT)!r}
from hvdocker.demo.own_command import OwnCommands
commands = OwnCommands(".", os.environ)
"""
RUN = """
with commands.passing_signals_on():
    code = commands.run(())
print("code", code, "interrupted", commands.is_interrupted)
"""
# Stands in for hvdocker: it says that it runs, and ends at the first SIGINT.
STAND_IN = """
import signal
print("ready", flush=True)
try:
    signal.pause()
except KeyboardInterrupt:
    raise SystemExit(130)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """The working folder comes first on the path of `python -m`, so the stand-in is found before hvdocker."""
    package = tmp_path / "hvdocker"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STAND_IN)
    return tmp_path


def start(folder: Path, script: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", SCRIPT + script]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_and_not_the_demo(stand_in: Path, number: signal.Signals) -> None:
    """The command would not see the terminal's Ctrl-C by itself: it has a session of its own."""
    process = start(stand_in, RUN)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.communicate(timeout=60)[0] == "code 130 interrupted True\n"


IGNORED = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
with commands.passing_signals_on():
    signal.raise_signal(signal.SIGINT)
    print("interrupted", commands.is_interrupted, flush=True)
    print("code", commands.run(()), "interrupted", commands.is_interrupted)
"""


def test_a_signal_that_was_ignored_at_the_start_is_ignored_and_others_end_the_command(stand_in: Path) -> None:
    """As of a shell's script that starts it with `&`, or of nohup."""
    process = start(stand_in, IGNORED)
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == ["interrupted False\n", "ready\n"]
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[0] == "code 130 interrupted True\n"


BETWEEN = """
with commands.passing_signals_on():
    signal.raise_signal(signal.SIGINT)
    print("code", commands.run(()), "interrupted", commands.is_interrupted)
"""


def test_after_a_signal_between_two_commands_the_second_is_not_started(stand_in: Path) -> None:
    assert start(stand_in, BETWEEN).communicate(timeout=60)[0] == "code 130 interrupted True\n"


# The signal comes when the process is there and `run` does not have it yet.
WHILE_STARTING = """
import subprocess
real = subprocess.Popen
def slow(*words, **settings):
    process = real(*words, **settings)
    signal.raise_signal(signal.SIGINT)
    return process
subprocess.Popen = slow
"""


def test_a_signal_that_comes_while_the_command_is_started_reaches_it(stand_in: Path) -> None:
    """SIGINT ends an interpreter that has no handler yet by the signal, later by KeyboardInterrupt: 130 both times."""
    told = start(stand_in, WHILE_STARTING + RUN).communicate(timeout=60)[0]
    assert told.removeprefix("ready\n") == "code 130 interrupted True\n"


def test_down_runs_after_a_signal(stand_in: Path) -> None:
    (stand_in / "hvdocker" / "__main__.py").write_text("print('cleanup', flush=True)")
    script = BETWEEN.replace("run(())", "run((), is_cleanup=True)")
    assert start(stand_in, script).communicate(timeout=60)[0] == "cleanup\ncode 0 interrupted True\n"
