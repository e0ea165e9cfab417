import pytest

from hvdocker.errors import UsageProblem
from hvdocker.launchers.passed_flags import split_passed_flags


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
    assert split_passed_flags(words) == ([], passed)


@pytest.mark.parametrize("words", [["--autotun"], ["--zzz", "3"], ["extra"], ["-x"]])
def test_everything_else_is_returned_as_it_is(words: list[str]) -> None:
    assert split_passed_flags([*words, "--autotune"]) == (words, ("--autotune",))


@pytest.mark.parametrize("words", [["--cycle-time-ms"], ["--cycle-time-ms", "--autotune"]])
def test_a_missing_value(words: list[str]) -> None:
    with pytest.raises(UsageProblem, match="--cycle-time-ms needs a value"):
        split_passed_flags(words)


def test_two_values() -> None:
    with pytest.raises(UsageProblem, match="--mca needs 2 values"):
        split_passed_flags(["--mca", "btl"])


def test_a_value_too_many() -> None:
    with pytest.raises(UsageProblem, match="--autotune takes no value"):
        split_passed_flags(["--autotune=yes"])
