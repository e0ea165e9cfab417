"""The commands of the demo, their order, and what follows if one of them fails or is interrupted."""

import json
from pathlib import Path

import pytest

from hvdocker import assets
from hvdocker.demo.demo import DOWN, STEPS, DemoStep, demo, write_files
from hvdocker.errors import HvdockerError, Interrupted, UsageProblem

WORDS = [step.words for step in STEPS]


class RecordedCommands:
    """Commands that leave in the folder what the real ones leave there. `codes` are exit codes by verb."""

    accuracy = 0.95

    def __init__(self, folder: Path, codes: dict[str, int] | None = None, interrupted_in: str = "") -> None:
        self.folder, self.codes, self.interrupted_in = folder, codes or {}, interrupted_in
        self.is_interrupted = False
        self.ran: list[tuple[str, ...]] = []
        self.silent: list[tuple[str, ...]] = []

    def run(self, words: tuple[str, ...], is_cleanup: bool = False, is_silent: bool = False) -> int:
        assert is_cleanup == (words == DOWN.words)
        self.ran.append(words)
        self.silent += [words] if is_silent else []
        self.is_interrupted |= words[0] == self.interrupted_in
        code = self.codes.get(words[0], 0)
        state = self.folder / ".hvdocker"
        if words[0] == "up":
            state.mkdir(exist_ok=True)
            (state / "current.json").touch()
        elif words[0] == "down" and not code:
            (state / "current.json").unlink()
        elif words[0] == "fetch" and not code:
            out = state / "jobs" / "train-abcd" / "out"
            out.mkdir(parents=True)
            (out / "model.npz").touch()
            (out / "result.json").write_text(json.dumps({"accuracy": self.accuracy, "images": 1000}))
        return code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "new" / "demo"


def nothing_there() -> bool:
    return False


def run(commands: RecordedCommands) -> list[DemoStep]:
    shown: list[DemoStep] = []
    demo(commands.folder, commands, shown.append, nothing_there)
    return shown


def test_each_command_is_shown_before_it_runs_and_the_result_is_told(folder: Path) -> None:
    commands = RecordedCommands(folder)
    shown: list[tuple[DemoStep, int]] = []
    report = demo(folder, commands, lambda step: shown.append((step, len(commands.ran))), nothing_there)
    assert commands.ran == WORDS
    assert shown == [(step, number) for number, step in enumerate(STEPS)]
    assert (report.accuracy, report.images) == (0.95, 1000)
    assert report.model.is_file() and report.model.is_relative_to(folder)


def test_the_folder_has_the_example_and_no_ignore_rule_from_above(folder: Path) -> None:
    write_files(folder)
    example = {path.name for path in assets.demo_dir().iterdir() if path.is_file()}
    assert {"train.py", "digits.txt", "requirements.txt", ".hvdockerignore"} <= example
    assert {path.name for path in folder.iterdir()} == example


def test_a_second_demo_keeps_the_users_changes(folder: Path) -> None:
    write_files(folder)
    (folder / "train.py").write_text("mine")
    write_files(folder)
    assert (folder / "train.py").read_text() == "mine"


def test_a_folder_with_other_files_is_refused(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "thesis.tex").touch()
    commands = RecordedCommands(folder)
    with pytest.raises(UsageProblem, match=r"not of the demo: thesis\.tex"):
        run(commands)
    assert commands.ran == [] and [path.name for path in folder.iterdir()] == ["thesis.tex"]


def test_a_cluster_that_was_there_before_is_not_taken_down(folder: Path) -> None:
    (folder / ".hvdocker").mkdir(parents=True)
    (folder / ".hvdocker" / "current.json").touch()
    commands = RecordedCommands(folder, {"up": 1})
    with pytest.raises(UsageProblem, match="already has a cluster") as caught:
        run(commands)
    assert commands.ran == [] and f"cd {folder} && hvdocker down" in str(caught.value.fix)


def test_the_cluster_of_another_folder_of_that_name_is_not_taken_down(folder: Path) -> None:
    commands = RecordedCommands(folder)
    with pytest.raises(UsageProblem, match="already has workers"):
        demo(folder, commands, lambda step: None, lambda: True)
    assert commands.ran == [] and not folder.exists()


@pytest.mark.parametrize("unread", range(len(STEPS)))
def test_a_closed_pipe_or_terminal_does_not_leave_the_cluster_up(folder: Path, unread: int) -> None:
    """As of `hvdocker demo | head -1`."""
    commands = RecordedCommands(folder)

    def show(step: DemoStep) -> None:
        if step not in STEPS[:unread]:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        demo(folder, commands, show, nothing_there)
    # `down` has no output that could fail.
    down = [DOWN.words] if unread else []
    assert (commands.ran, commands.silent) == ([*WORDS[:unread], *down], down)


def test_a_down_that_could_only_not_say_that_it_is_done_is_done(folder: Path) -> None:
    commands = RecordedCommands(folder, {"train": 1})
    real = commands.run

    def run_and_fail_to_print(words: tuple[str, ...], is_cleanup: bool = False, is_silent: bool = False) -> int:
        return real(words, is_cleanup, is_silent) or int(is_cleanup)

    commands.run = run_and_fail_to_print  # type: ignore[method-assign]
    with pytest.raises(HvdockerError) as caught:
        run(commands)
    assert "may still be there" not in str(caught.value.fix)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").touch()
    with pytest.raises(UsageProblem, match="cannot be used"):
        run(RecordedCommands(tmp_path / "demo"))


def test_a_command_that_fails_ends_the_demo_and_its_cluster(folder: Path) -> None:
    commands = RecordedCommands(folder, {"train": 100})
    with pytest.raises(HvdockerError) as caught:
        run(commands)
    assert commands.ran == [*WORDS[:2], DOWN.words]
    assert caught.value.exit_code == 100 and "hvdocker train train.py" in caught.value.what


def test_without_an_engine_there_is_no_cluster_to_take_down(folder: Path) -> None:
    commands = RecordedCommands(folder, {"up": 4})
    commands.run = lambda words: commands.ran.append(words) or 4  # type: ignore[method-assign,func-returns-value]
    with pytest.raises(HvdockerError) as caught:
        run(commands)
    assert (commands.ran, caught.value.exit_code) == ([WORDS[0]], 4)


@pytest.mark.parametrize("verb", ["up", "train", "fetch"])
def test_ctrl_c_takes_the_cluster_down(folder: Path, verb: str) -> None:
    commands = RecordedCommands(folder, {verb: 130}, interrupted_in=verb)
    with pytest.raises(Interrupted, match="its cluster is down") as caught:
        run(commands)
    assert commands.ran[-1] == DOWN.words and caught.value.fix is None


def test_a_cluster_that_could_not_be_taken_down_is_named(folder: Path) -> None:
    commands = RecordedCommands(folder, {"train": 130, "down": 1}, interrupted_in="train")
    with pytest.raises(Interrupted) as caught:
        run(commands)
    assert "hvdocker down" in str(caught.value.fix) and str(folder) in str(caught.value.fix)


def test_a_network_that_learned_nothing_is_an_error(folder: Path) -> None:
    commands = RecordedCommands(folder)
    commands.accuracy = 0.1
    with pytest.raises(HvdockerError, match="reads only 10% of the images"):
        run(commands)


def test_results_that_did_not_come_home_are_an_error(folder: Path) -> None:
    commands = RecordedCommands(folder)
    real, commands.run = commands.run, lambda words: 0 if words == ("fetch",) else real(words)  # type: ignore[method-assign]
    with pytest.raises(HvdockerError, match="did not come home"):
        run(commands)
