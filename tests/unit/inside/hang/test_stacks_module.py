"""Every Python of the image loads it at its start: it must not be noticed."""

import os
import subprocess
import sys
from pathlib import Path

from hvdocker_stacks import SIGNAL
from inside.hang import ask_python

STACKS = Path(__file__).parents[4] / "images" / "doc-hvd" / "stacks"


def python(script: str, tmp_path: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    """A Python that reads the .pth file as one of the image does."""
    site = f"import site; site.addsitedir({str(STACKS)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", site + script],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **env},
        cwd=tmp_path,
    )


def test_both_ends_mean_the_same_signal() -> None:
    assert ask_python.SIGNAL == SIGNAL


def test_nothing_is_imported_where_nobody_asks(tmp_path: Path) -> None:
    done = python("import sys; print('hvdocker_stacks' in sys.modules)", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_a_folder_that_is_not_there_is_of_no_consequence(tmp_path: Path) -> None:
    done = python("print('fine')", tmp_path, HVDOCKER_STACKS=str(tmp_path / "none"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")


def test_a_process_that_ends_takes_its_file_along(tmp_path: Path) -> None:
    script = "import os; print(os.listdir('.') == [str(os.getpid())])"
    done = python(script, tmp_path, HVDOCKER_STACKS=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert list(tmp_path.iterdir()) == []


def test_the_first_numbers_stay_free_and_nothing_is_inherited(tmp_path: Path) -> None:
    script = (
        "import os, subprocess\n"
        "links = [name for name in os.listdir('/proc/self/fd') if int(name) > 2]\n"
        "held = [name for name in links if os.path.exists(f'/proc/self/fd/{name}')]\n"
        "print(all(int(name) >= 200 for name in held), len(held))\n"
        "listing = subprocess.run(['ls', '/proc/self/fd'], capture_output=True, close_fds=False)\n"
        "print(any(int(name) >= 200 for name in listing.stdout.split()))\n"
    )
    done = python(script, tmp_path, HVDOCKER_STACKS=str(tmp_path))
    assert (done.stdout, done.stderr) == ("True 1\nFalse\n", "")
