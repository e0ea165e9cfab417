"""Jobs of the past and their output, with the launchers that `make test` does not try, and with a head that is off."""

from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.test_training_history import *  # noqa: F403 - its tests and fixtures are collected here too
from tests.cluster.test_training_history import history, powered_off
from tests.cluster.training import DEADLINE_S, await_no_ranks, await_ranks, train_detached

LAUNCHERS = ("horovod", "each")


def test_a_job_whose_head_is_off_is_read_and_stopped_elsewhere(training: LabCluster) -> None:
    training.up()  # the last of the other tests took the cluster down
    job = train_detached(training, "code/gate.py", "--", "headless")
    await_ranks(training, "gate.py headless")
    head, other = training.hosts
    kept = f"{training.folder_on(other)}/jobs/{job}/logs/rank-1.log"
    # A rank runs a moment before its first line is in its log.
    until(lambda: "waiting for headless" in other.exec(f"cat {kept}") or None, "the rank's first line", DEADLINE_S)
    other.exec(f"echo 'the last words of rank 1' >> {kept}; chmod 644 {kept}")
    with powered_off(head):
        result = training.run("logs", job, "-n", "2")
        # Behind them may stand, by then, that the rank was ended because its head was gone.
        assert "1@h2 │ the last words of rank 1\n" in result.out
        assert "h1, which has the job's container, is away" in result.err and "ranks on h2" in result.err
        training.run("logs", job, "-f", check=4)
        assert "h1: " in training.run("attach", job, check=4).err
        stopped = training.run("stop", job, check=4)
        assert f"h1: the container of {job} is there, and could not be stopped" in stopped.err
        history(training, check=4)
    await_no_ranks(training)
    assert "had ended already" in training.run("stop", job).out
    assert history(training)[job]["host"] == "h1"
