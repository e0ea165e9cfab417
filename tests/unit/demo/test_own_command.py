"""The demo's commands are processes of this hvdocker; Ctrl-C reaches the one that runs, once."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from hvdocker.demo.own_command import OwnCommands

ROOT = Path(__file__).parents[3]


def test_a_command_runs_in_the_folder_and_gives_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text("hosts: [127.0.0.1]\n")
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "HVDOCKER_INVENTORY": "/elsewhere.yaml"}
    commands = OwnCommands(tmp_path, environ)
    assert [commands.run(words) for words in (("config",), ("nosuchverb",))] == [0, 2]
    assert not commands.is_interrupted


SCRIPT = """
import os, sys
from hvdocker.demo.own_command import OwnCommands
commands = OwnCommands(".", os.environ)
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


def test_a_signal_ends_the_command_and_not_the_demo(tmp_path: Path) -> None:
    """The command would not see the terminal's Ctrl-C by itself: it has a session of its own."""
    package = tmp_path / "hvdocker"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STAND_IN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The working folder comes first on the path of `python -m`, so the stand-in is found before hvdocker.
        process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[0] = {str(ROOT)!r}\n{SCRIPT}"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.communicate(timeout=60)[0] == "code 130 interrupted True\n"
