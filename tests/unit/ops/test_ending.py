import pytest

from hvdocker.errors import ExitCode, HvdockerError, JobFailed, JobStopped
from hvdocker.model.job import JobRecord, RankEnd
from hvdocker.model.placement import Placement, Share
from hvdocker.ops.ending import verdict
from hvdocker.ops.watch import JobEnd

PLACEMENT = Placement((Share("b", 1), Share("a", 2)))


def record(state: str, first: RankEnd | None = None) -> JobRecord:
    return JobRecord("train-abcd", state, 1, 0.0, 1.0, (), first)


def judged(end: JobEnd, **last: tuple[str, ...]) -> HvdockerError:
    with pytest.raises(HvdockerError) as caught:
        verdict("train-abcd", PLACEMENT, end, {1: ("one", "two")})
    return caught.value


@pytest.mark.parametrize(
    "end", [JobEnd(record("succeeded"), 0), JobEnd(None, 0)], ids=["record", "exit code"]
)
def test_success_is_silence(end: JobEnd) -> None:
    verdict("train-abcd", PLACEMENT, end, {})


def test_stopped_by_someone_else() -> None:
    error = judged(JobEnd(record("stopped"), 143))
    assert (type(error), error.exit_code) == (JobStopped, ExitCode.JOB_STOPPED)
    assert int(error.exit_code) == 103
    assert str(error) == "job train-abcd was stopped by someone else"


def test_the_first_rank_that_failed_with_its_last_words() -> None:
    error = judged(JobEnd(record("failed", RankEnd(1, "a", 7)), 1))
    assert (type(error), int(error.exit_code)) == (JobFailed, 100)
    assert str(error) == "a: rank 1 failed with exit code 7"
    assert error.lines == ("one", "two")
    assert error.fix == "the other ranks were ended; all output: hvdocker logs train-abcd"


@pytest.mark.parametrize(
    ("signal", "was_oom_killed", "words"),
    [
        (11, False, "a: rank 1 was killed by signal 11"),
        (9, False, "a: rank 1 was killed by signal 9"),
        (9, True, "a: rank 1 was killed by signal 9 (out of memory: the kernel killed it)"),
        (11, True, "a: rank 1 was killed by signal 11"),
    ],
)
def test_a_killed_rank_and_memory(signal: int, was_oom_killed: bool, words: str) -> None:
    first = RankEnd(1, "a", None, signal)
    assert str(judged(JobEnd(record("failed", first), 1, was_oom_killed))) == words


def test_no_rank_reported() -> None:
    error = judged(JobEnd(record("failed"), 1))
    assert str(error) == "b: job train-abcd failed before its ranks could report"
    assert error.exit_code == ExitCode.JOB_FAILED


def test_no_record_at_all_and_out_of_memory() -> None:
    error = judged(JobEnd(None, 137, was_oom_killed=True))
    assert str(error) == (
        "b: job train-abcd failed before its ranks could report (out of memory: the kernel killed it)"
    )
