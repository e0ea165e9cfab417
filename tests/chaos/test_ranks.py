"""Ranks that end in every way a rank can, or do not end at all."""

import re

from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.jobs import (
    assert_next_job_runs,
    assert_no_ranks_left,
    checkpoint,
    error_text,
    finish_job,
    open_gate,
    train_words,
)
from tests.cluster.faults.trial import Trial


def breaks(t: Trial, fault: str, code: int, *flags: str) -> str:
    """What is said last when rank 1 breaks in that way; nothing stays, and the next job runs."""
    process = t.start(*train_words(t, *flags), "never", "1", fault)
    assert process.stdout is not None
    assert any(f"rank 1 breaks: {fault}" in line for line in iter(process.stdout.readline, ""))
    with t.reaction():
        said = error_text(t.wait_expecting(process, code))
    assert_no_ranks_left(t)
    assert_next_job_runs(t)
    return said


def test_rank_out_of_memory(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        said = breaks(t, "memory", 100)
        assert said.startswith("h2: rank 1 ") and "out of memory" in said


def test_rank_with_an_exception(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        said = breaks(t, "exception", 100)
        assert said.startswith("h2: rank 1 failed with exit code 1")
        assert "RuntimeError: the data make no sense" in said


def test_rank_with_exit_code_7(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        assert breaks(t, "7", 100).startswith("h2: rank 1 failed with exit code 7")


def test_rank_with_exit_code_7_passed_on(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        assert breaks(t, "7", 7, "--propagate-exit").startswith("h2: rank 1 failed with exit code 7")


def test_rank_hanging(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        said = breaks(t, "hang", 100, "--hang-after", "8s", "--on-hang", "kill")
        assert said.startswith("h2: no rank did anything for 8.0 s") and "rank 1 is the odd one" in said
        found = re.search(r"hvdocker fetch (\S+), then logs/(\S+)/summary.txt", said)
        assert found is not None
        t.site.run("fetch", found[1])
        bundle = t.site.folder / ".hvdocker" / "jobs" / found[1] / "logs" / found[2]
        assert bundle.name == "hang-1" and "rank 1" in (bundle / "summary.txt").read_text()


def test_rank_hanging_with_a_restart(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        process = t.start(
            "train", "code/steps_horovod.py", "--hang-after", "8s", "--on-hang", "restart", "--restarts", "1",
            "--", "freed", "1", "hang",
        )  # fmt: skip
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any("rank 1 breaks: hang" in line for line in lines)
        with t.reaction():
            assert any("begins at step" in line for line in lines)
        open_gate(t, "freed")
        code, out, err = t.wait(process)
        assert code == 0 and "freed has come" in out and "rank 1" in err + out
        assert_no_ranks_left(t)


def test_host_that_fails_every_rank_of_an_elastic_job(training_trial: TrialFactory) -> None:
    """It is taken back twice, then no more; the others go on."""
    with training_trial() as t:
        process = t.start("train", "code/elastic_horovod.py", "-np", "2", "--min-np", "1", "--", "spared", "h2")
        assert process.stdout is not None
        with t.reaction():
            assert any("h2 is dropped from the job" in line for line in iter(process.stdout.readline, ""))
        finish_job(t, process, "spared")
        assert checkpoint(t)["ranks"] == 1
        assert_no_ranks_left(t)
