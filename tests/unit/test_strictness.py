"""A strict run is red for every test that did not really run, in one process or in several."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNS = "def test_that_runs(): pass\n"
DO_NOT = """
import pytest

def test_other(): pass

@pytest.mark.skip
def test_idle(): pass

@pytest.mark.xfail
def test_broken(): assert False
"""


def strict_run(folder: Path, text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_some.py").write_text(text)
    strictly = ("--rootdir", folder, "-p", "tests.strictness", "--strict-run", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *strictly, *words, folder / "test_some.py"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("processes", ["0", "2"])
def test_what_did_not_run_is_named_once_and_fails_the_run(tmp_path: Path, processes: str) -> None:
    done = strict_run(tmp_path, RUNS + DO_NOT, "-n", processes, "-k", "not other")
    named = done.stdout.partition("did not really run")[2].splitlines()[1:]
    assert done.returncode == 1
    assert sorted(line for line in named if "::" in line) == [
        "deselected: test_some.py::test_other",
        "skipped: test_some.py::test_idle",
        "xfail: test_some.py::test_broken",
    ]


def test_a_run_of_all_tests_is_green(tmp_path: Path) -> None:
    done = strict_run(tmp_path, RUNS, "-n", "2")
    assert done.returncode == 0, done.stdout
