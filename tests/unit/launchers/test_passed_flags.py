import pytest

from hvdocker.errors import ExitCode, UsageProblem
from hvdocker.launchers.passed_flags import refuse_unknown_words, split_passed_flags


def split_tuning(words: list[str]) -> tuple[str, ...]:
    plain, tuning = split_passed_flags(words)
    refuse_unknown_words(plain)
    return tuning


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        ([], ()),
        (["--autotune"], ("--autotune",)),
        (["--fusion-threshold-mb", "32", "--autotune"], ("--fusion-threshold-mb", "32", "--autotune")),
        (["--cycle-time-ms=3.5"], ("--cycle-time-ms", "3.5")),
        (["--elastic-timeout=30", "--reset-limit", "2"], ("--elastic-timeout", "30", "--reset-limit", "2")),
        (["--timeline-filename=a=b"], ("--timeline-filename", "a=b")),
        (["--max-restarts=3", "--rdzv-conf", "a=1"], ("--max-restarts", "3", "--rdzv-conf", "a=1")),
        (["--mca", "btl", "tcp", "--report-bindings"], ("--mca", "btl", "tcp", "--report-bindings")),
    ],
)
def test_flags_of_launchers_are_passed_on(words: list[str], passed: tuple[str, ...]) -> None:
    assert split_tuning(words) == passed


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["--autotun"], "there is no flag --autotun", "did you mean --autotune?"),
        (
            ["--fusion-treshold-mb=1"],
            "there is no flag --fusion-treshold-mb",
            "did you mean --fusion-threshold-mb?",
        ),
        (["--launchr", "x"], "there is no flag --launchr", "did you mean --launcher?"),
        (["--max-restart", "x"], "there is no flag --max-restart", "did you mean --max-restarts?"),
        (["--work-dir", "x"], "there is no flag --work-dir", "did you mean --workdir?"),
        (["--zzz"], "there is no flag --zzz", "the script's own arguments go after --"),
        (["extra"], "what is 'extra'?", "the script's own arguments go after --"),
        (["-x"], "what is '-x'?", "the script's own arguments go after --"),
    ],
)
def test_everything_else_is_a_typo(words: list[str], what: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        split_tuning(words)
    assert caught.value.what == what
    assert caught.value.fix and caught.value.fix.startswith(hint)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("words", [["--cycle-time-ms"], ["--cycle-time-ms", "--autotune"]])
def test_a_missing_value(words: list[str]) -> None:
    with pytest.raises(UsageProblem, match="--cycle-time-ms needs a value"):
        split_tuning(words)


def test_two_values() -> None:
    with pytest.raises(UsageProblem, match="--mca needs 2 values"):
        split_tuning(["--mca", "btl"])


def test_a_value_too_many() -> None:
    with pytest.raises(UsageProblem, match="--autotune takes no value"):
        split_tuning(["--autotune=yes"])
