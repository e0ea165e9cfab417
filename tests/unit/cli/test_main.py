"""The words of a command line, and the codes it ends with."""

import subprocess
import sys
from pathlib import Path

import pytest

from hvdocker import __version__
from hvdocker.cli.main import main, split_at_dashes


@pytest.mark.parametrize(
    ("argv", "own", "rest"),
    [
        ([], [], None),
        (["up", "x.yaml"], ["up", "x.yaml"], None),
        (["train", "x.py", "--"], ["train", "x.py"], ()),
        (["train", "x.py", "--", "--epochs", "3"], ["train", "x.py"], ("--epochs", "3")),
        (["train", "--", "a", "--", "b"], ["train"], ("a", "--", "b")),
        (["--", "x"], [], ("x",)),
    ],
)
def test_what_comes_after_two_dashes_is_the_users(
    argv: list[str], own: list[str], rest: tuple[str, ...] | None
) -> None:
    assert split_at_dashes(argv) == (own, rest)


class Ended:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The CLI in an empty folder, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HVDOCKER_INVENTORY", raising=False)
    (tmp_path / "train.py").touch()

    def run(line: str) -> Ended:
        with pytest.raises(SystemExit) as caught:
            main(line.split())
        captured = capsys.readouterr()
        return Ended(int(caught.value.code or 0), captured.out, captured.err)

    return run


@pytest.mark.parametrize(
    "line",
    [
        "--nope", "nosuchverb", "up --nope", "up a b", "up --local two", "up --local 0", "up --keep maybe",
        "up --script", "up x.yaml --local 2", "up --hosts a,a", "up nope.yaml", "down -- x", "status extra",
        "logs --tail -1", "logs -- x", "train train.py --frobnicate", "train --frobnicate",
        "train --frobnicate train.py", "train -x train.py", "train train.py extra", "train train.py -np two",
        "train train.py --cycle-time-ms", "train train.py --script", "image build --target nope",
        "image build --wheelhouse nope", "image build --cuda-image x", "image build --from x --target torch",
        "image build --from=", "image nosuch", "fetch a b c",
        "replay", "replay a b", "replay a -np 0", "replay a -- x", "diff a", "diff a b c",
    ],
)  # fmt: skip
def test_a_usage_error_ends_with_2(run, line: str) -> None:
    ended = run(line)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err


@pytest.mark.parametrize(
    "line",
    ["status", "logs", "stop", "fetch", "down", "up", "train train.py", "train train.py -- --frobnicate"],
)
def test_without_a_cluster_it_ends_with_2_and_says_how_to_start_one(run, line: str) -> None:
    ended = run(line)
    assert ended.code == 2
    assert ended.err == (
        "error: there is no cluster here: no .hvdocker/ in this folder or above, and no inventory.yaml\n"
        "  → write an inventory: hvdocker init; or start workers on this machine: hvdocker up --local 2\n"
    )


@pytest.mark.parametrize(
    "line",
    ["train train.py --autotune", "train --autotune train.py", "train --fusion-threshold-mb 32 train.py",
     "train --cycle-time-ms=5 train.py -np 2"],
)  # fmt: skip
def test_tuning_flags_may_stand_before_or_after_the_script(run, line: str) -> None:
    """They are understood: what fails is the next thing, that there is no cluster."""
    assert "no cluster here" in run(line).err


def test_an_unknown_flag_is_named_wherever_it_stands(run) -> None:
    for line in ("train --frobnicate", "train --frobnicate train.py", "train train.py --frobnicate"):
        assert "there is no flag --frobnicate" in run(line).err


@pytest.mark.parametrize("line", ["--version", "-V", "version", "--debug version"])
def test_the_version(run, line: str) -> None:
    ended = run(line)
    assert (ended.code, ended.out) == (0, f"hvdocker {__version__}\n")


def test_python_runs_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "hvdocker", "-V"], capture_output=True, text=True, check=True)
    assert done.stdout == f"hvdocker {__version__}\n"


def test_every_problem_of_an_inventory_on_the_terminal(run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("port: abc\nhosts: [a]\nimge: x\n")
    ended = run("up lab.yaml")
    assert ended.code == 2
    assert ended.err == (
        "error: lab.yaml has 2 problems\n"
        '    port (line 1): should be an integer, got "abc"\n'
        "    imge (line 3): unknown key; did you mean `image`?\n"
    )


def test_a_traceback_only_with_debug(run) -> None:
    assert "Traceback" not in run("status").err
    assert "Traceback" in run("status --debug").err


def test_nothing_is_written_where_nothing_was_done(run, tmp_path: Path) -> None:
    run("status")
    run("up --hosts a,a")
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.parametrize(("flag", "is_told"), [("", False), ("--debug", True)])
def test_what_is_cleared_away_complains_to_nobody(flag: str, is_told: bool) -> None:
    """A file of a connection that was lost, say."""
    script = f"""
import sys
from hvdocker.cli.main import main
class Odd:
    def __del__(self):
        raise ValueError("odd")
sys.argv = ["hvdocker", *"{flag}".split(), "--version"]
try:
    main()
except SystemExit:
    Odd()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hvdocker")
    assert ("ValueError: odd" in done.stderr) is is_told


def started(words: str, **how: object) -> str:
    """What a process of its own says on stderr; `words` are Python that ends in a call of main()."""
    code = f"import os, sys; sys.argv = ['hvdocker', '--version']; from hvdocker.cli.main import main; {words}"
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False, **how)  # type: ignore[call-overload]
    assert done.returncode != 0
    return str(done.stderr)


def test_a_full_disk_behind_the_output_is_named() -> None:
    with Path("/dev/full").open("w") as full:
        said = started("sys.stdout.reconfigure(write_through=True); main()", stdout=full)
    assert "could not write" in said and "No space left on device" in said and "did not foresee" not in said


def test_a_current_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    said = started(f"os.mkdir('{tmp_path}/x'); os.chdir('{tmp_path}/x'); os.rmdir('{tmp_path}/x'); main()")
    assert "the current folder was removed" in said and "did not foresee" not in said
