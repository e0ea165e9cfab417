"""A Python process of a rank that fails ends at once, without the waits of frameworks at its end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

STACKS = Path(__file__).parents[4] / "images" / "doc-hvd" / "stacks"
BEGIN = f"""
import site; site.addsitedir({str(STACKS)!r})
import atexit, sys, threading
atexit.register(lambda: print("waited"))
"""


def run(script: str, folder: Path, is_on: str = "1") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HVDOCKER_STACKS": str(folder), "HVDOCKER_FAIL_FAST": is_on},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("sys.exit(7)", (7, "", "")),
        ("print('out', end=''); sys.exit(7)", (7, "out", "")),
        ("sys.exit('in words')", (1, "", "in words\n")),
        ("sys.exit()", (0, "waited\n", "")),
        ("sys.exit(0)", (0, "waited\n", "")),
        ("exit(7)", (7, "", "")),
        ("quit('in words')", (1, "", "in words\n")),
        ("exit()", (0, "waited\n", "")),
        (
            "try:\n    exit(7)\nexcept SystemExit as end:\n    print(end.code, sys.stdin.closed)",
            (0, "7 True\nwaited\n", ""),
        ),
        ("t = threading.Thread(target=exit, args=(7,)); t.start(); t.join()", (0, "waited\n", "")),
        ("try:\n    sys.exit(7)\nexcept SystemExit:\n    pass", (0, "waited\n", "")),
        ("t = threading.Thread(target=sys.exit, args=(7,)); t.start(); t.join()", (0, "waited\n", "")),
    ],
)
def test_a_process_that_exits(script: str, wanted: tuple[int, str, str], tmp_path: Path) -> None:
    assert run(script, tmp_path) == wanted


def test_an_uncaught_exception_is_shown_and_ends_the_process(tmp_path: Path) -> None:
    code, out, err = run("raise ValueError('on purpose')", tmp_path)
    assert (code, out) == (1, "")
    assert err.endswith("ValueError: on purpose\n")


def test_a_library_that_calls_the_former_hook_is_heard(tmp_path: Path) -> None:
    script = (
        "old = sys.excepthook\nsys.excepthook = lambda *error: (print('heard'), old(*error))\nraise ValueError('x')"
    )
    code, out, err = run(script, tmp_path)
    assert (code, out) == (1, "heard\n")
    assert err.endswith("ValueError: x\n")


def test_nothing_changes_where_it_is_not_wanted(tmp_path: Path) -> None:
    assert run("sys.exit(7)", tmp_path, is_on="0") == (7, "waited\n", "")
