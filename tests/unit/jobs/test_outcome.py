from dataclasses import replace

import pytest

from hvdocker.errors import ExitCode, HvdockerError, JobFailed, JobStopped
from hvdocker.jobs.outcome import EndedJob, JobEnd, raise_unless_succeeded
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.rank_messages import RankEnd
from hvdocker.protocol.record import DroppedHost, Hang, JobRecord, RuleMatch

PLACEMENT = Placement((Share("b", 1), Share("a", 2)))
AGAIN = "a rank failed there 3 times in a row within a minute of its start"
MEMORY = "(out of memory: the kernel killed it)"


def record(state: str, first: RankEnd | None = None, **more: object) -> JobRecord:
    return replace(JobRecord("train-abcd", state, 1, 0.0, 1.0, (), first), **more)


def judged(end: JobEnd, propagates_exit: bool = False, restarts_before: int = 0) -> HvdockerError:
    ended = EndedJob("train-abcd", PLACEMENT, end, {1: ("one", "two")}, " -i x", restarts_before)
    with pytest.raises(HvdockerError) as caught:
        raise_unless_succeeded(ended, propagates_exit)
    return caught.value


@pytest.mark.parametrize("end", [JobEnd(record("succeeded"), 0), JobEnd(None, 0)], ids=["record", "exit code"])
def test_success_is_silence(end: JobEnd) -> None:
    raise_unless_succeeded(EndedJob("train-abcd", PLACEMENT, end, {}))


def test_stopped_by_someone_else() -> None:
    error = judged(JobEnd(record("stopped"), 143))
    assert (type(error), error.exit_code) == (JobStopped, ExitCode.JOB_STOPPED)
    assert int(error.exit_code) == 103
    assert str(error) == "b: job train-abcd was stopped by someone else"


def test_the_first_rank_that_failed_with_its_last_words() -> None:
    error = judged(JobEnd(record("failed", RankEnd(1, "a", 7)), 1))
    assert (type(error), int(error.exit_code)) == (JobFailed, 100)
    assert str(error) == "a: rank 1 failed with exit code 7"
    assert error.lines == ("one", "two")
    assert error.fix == "the other ranks were ended; all output: hvdocker logs train-abcd -i x"


@pytest.mark.parametrize(
    ("launcher", "others", "are_ended"),
    [
        ("torch", (RankEnd(0, "b", 0), RankEnd(2, "a", 0)), True),
        ("each", (RankEnd(0, "b", 0), RankEnd(2, "a", 5)), False),
        ("each", (RankEnd(0, "b", 3), RankEnd(2, "a", 5)), False),
        ("each", (RankEnd(0, "b", 0), RankEnd(2, "a", 143, 15)), True),
        ("each", (RankEnd(0, "b", 1), RankEnd(2, "a", None)), True),
    ],
)
def test_other_ranks_were_ended_unless_they_are_independent(
    launcher: str, others: tuple[RankEnd, ...], are_ended: bool
) -> None:
    first = RankEnd(1, "a", 7)
    job = replace(record("failed", first, ranks=(others[0], first, others[1])), launcher=launcher)
    error = judged(JobEnd(job, 1))
    assert ("the other ranks were ended" in (error.fix or "")) == are_ended


@pytest.mark.parametrize(
    ("code", "ours"),
    [(7, 7), (137, 137), (1, 1), (125, 100), (126, 100), (127, 100), (255, 100), (None, 100)],
)
def test_the_ranks_own_code_unless_it_is_dockers_or_sshs(code: int | None, ours: int) -> None:
    end = JobEnd(record("failed", RankEnd(1, "a", code)), 1)
    assert judged(end, propagates_exit=True).exit_code == ours
    assert judged(end).exit_code == 100


@pytest.mark.parametrize(
    ("first", "was_oom_killed", "words"),
    [
        (RankEnd(1, "a", 139, 11), False, "a: rank 1 was killed by SIGSEGV"),
        (RankEnd(1, "a", 137, 9), False, "a: rank 1 was killed by SIGKILL"),
        (RankEnd(1, "a", 255, 999), False, "a: rank 1 was killed by signal 999"),
        (RankEnd(1, "a", 137, 9, was_oom_killed=True), False, f"a: rank 1 was killed by SIGKILL {MEMORY}"),
        # The master's flag tells of the ranks inside the master alone.
        (RankEnd(0, "b", 137, 9), True, f"b: rank 0 was killed by SIGKILL {MEMORY}"),
        (RankEnd(0, "b", 139, 11), True, "b: rank 0 was killed by SIGSEGV"),
        (RankEnd(1, "a", 137, 9), True, "a: rank 1 was killed by SIGKILL"),
    ],
)
def test_a_killed_rank_and_memory(first: RankEnd, was_oom_killed: bool, words: str) -> None:
    error = judged(JobEnd(record("failed", first), 1, was_oom_killed))
    assert str(error) == words
    assert ("`memory:`" in (error.fix or "")) == (MEMORY in words)


def test_no_rank_reported() -> None:
    error = judged(JobEnd(record("failed"), 1))
    assert str(error) == "b: job train-abcd failed before its ranks could report"
    assert error.exit_code == ExitCode.JOB_FAILED


def test_no_record_at_all_and_out_of_memory() -> None:
    error = judged(JobEnd(None, 137, was_oom_killed=True))
    assert str(error) == f"b: job train-abcd failed before its ranks could report {MEMORY}"


def test_a_master_that_was_killed_left_its_record_running() -> None:
    assert str(judged(JobEnd(record("running"), 137))) == ("b: the master of job train-abcd was killed (exit code 137)")


def test_a_lost_host_is_the_cause_whichever_rank_failed_first() -> None:
    lost = record("failed", RankEnd(0, "b", 1), lost_hosts=("a",), ranks=(RankEnd(0, "b", 1), RankEnd(1, "a", None)))
    error = judged(JobEnd(lost, 1))
    assert str(error) == "host a stopped answering; rank 1 was there"
    assert error.lines == ("rank 1: one", "rank 1: two")
    assert error.fix and "hvdocker up -i x" in error.fix and "--restarts" in error.fix


def test_no_rank_is_to_blame_for_a_lost_host() -> None:
    lost = record("failed", RankEnd(0, "b", 1), lost_hosts=("a",))
    assert judged(JobEnd(lost, 1), propagates_exit=True).exit_code == 100


def test_lost_hosts_of_which_no_rank_reported() -> None:
    error = judged(JobEnd(record("failed", lost_hosts=("a", "c")), 1))
    assert str(error) == "hosts a, c stopped answering; ranks 1, 2 were there"


def test_a_hang_that_was_ended_names_the_odd_rank_and_the_bundle() -> None:
    hang = Hang(600, 1, "a", "it sleeps", "hang-1", "kill")
    error = judged(JobEnd(record("failed", RankEnd(0, "b", 143, 15), hang=hang), 1))
    assert str(error) == (
        "a: no rank did anything for 10 min 00 s, so the job was ended; rank 1 is the odd one (it sleeps)"
    )
    assert error.lines == ("one", "two")
    assert error.fix == "stacks of all ranks: hvdocker fetch train-abcd -i x, then logs/hang-1/summary.txt"


def test_what_else_happened_on_the_way() -> None:
    whole = record(
        "failed",
        RankEnd(1, "a", 1),
        restarts=1,
        dropped_by_rule=(RuleMatch("ECC", "an ECC error", 2, "a"),),
        dropped_hosts=(
            DroppedHost("c", 3, "exit code 3", "drop"),
            DroppedHost("b", 3, "signal SIGKILL", "end"),
        ),
        stopped_by_rule=RuleMatch("OOM", "OOM when allocating", 1, "a"),
        hang=Hang(60, 0, "b", "", "hang-1", "restart"),
    )
    error = judged(JobEnd(whole, 1), restarts_before=1)
    assert str(error) == "a: rank 1 failed with exit code 1, after 2 restarts"
    assert error.lines[2:] == (
        "a was left out by the rule 'ECC': rank 2 said: an ECC error",
        f"c was left out: {AGAIN} (last: exit code 3)",
        f"b is the head: {AGAIN} (last: signal SIGKILL)",
        "not run again because of the rule 'OOM': rank 1 on a said: OOM when allocating",
        "no rank did anything for 1 min 00 s; rank 0 on b was the odd one: see logs/hang-1",
    )
