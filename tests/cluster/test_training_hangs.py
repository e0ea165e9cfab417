"""A job that does nothing any more is found out, explained, and dealt with as the person said."""

import json

import pytest

from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import await_line, await_no_ranks, train_detached

pytestmark = pytest.mark.training

BUSY = "import time; end = time.monotonic() + 15\nwhile time.monotonic() < end: pass"


@pytest.mark.parametrize(
    ("flags", "how"),
    [((), "py-spy"), (("--env", "UNTRACEABLE=1"), "faulthandler")],
    ids=["by tracing", "where tracing is forbidden"],
)
def test_a_hang_names_the_rank_that_is_not_where_the_others_are(
    training: LabCluster, flags: tuple[str, ...], how: str
) -> None:
    words = ["--hang-after", "6s", "--on-hang", "kill", *flags]
    result = training.run("train", "code/stuck.py", *words, check=100)
    first = result.err.partition("error: ")[2].splitlines()[0]
    assert "rank 1" in first and "h2" in first
    assert "asleep" in result.out and "stuck.py" in result.out
    await_no_ranks(training)
    job = training.status()["jobs"][0]["job"]
    training.run("fetch", job)
    bundle = training.folder / ".hvdocker" / "jobs" / job / "logs" / "hang-1"
    stacks = {host: json.loads((bundle / f"{host}.json").read_text())["ranks"] for host in ("h1", "h2")}
    assert {host: rank["how"] for host, (rank, *_) in stacks.items()} == {"h1": how, "h2": how}
    assert "asleep" in stacks["h2"][0]["text"] and "allreduce" in stacks["h1"][0]["text"]
    assert "rank 1" in (bundle / "summary.txt").read_text()


def test_a_hang_that_is_only_told_leaves_the_job_as_it_is(training: LabCluster) -> None:
    job = train_detached(training, "code/stuck.py", "--hang-after", "6s")
    await_line(training, job, r"the job is left as it is \(--on-hang wait\)")
    assert training.status()["jobs"][0]["state"] == "running"
    assert "is stopped" in training.run("stop", job).out
    await_no_ranks(training)


def test_a_job_that_works_in_silence_is_no_hang(training: LabCluster) -> None:
    words = ["--hang-after", "3s", "--on-hang", "kill", "--workdir", "code", "--", "python", "-c", BUSY]
    assert "hang" not in training.run("train", *words).out
    await_no_ranks(training)
