"""Hosts that lose their power, at every time of a cluster's life."""

import shutil

from tests.cluster.faults.fault_injection import power_off, power_on
from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.jobs import (
    assert_next_job_runs,
    await_progress,
    await_step,
    checkpoint,
    error_text,
    finish_job,
    job_starts,
    newest_job,
    open_gate,
    start_watched,
)
from tests.cluster.faults.trial import change_inventory, inventory_of
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab_cluster import SMALL_IMAGE
from tests.cluster.training import await_no_ranks


def test_host_off_before_up(trial: TrialFactory) -> None:
    with trial() as t:
        power_off(t.hosts[1])
        with t.reaction():
            said = t.run_expecting(4, "up", t.site.inventory)
        assert f"h2: {t.hosts[1].address}:22" in said and "h1" not in said
        assert cluster_leftovers(t.hosts[:1], t.site.cluster) == {}


def test_host_off_while_its_image_travels(trial: TrialFactory) -> None:
    with trial() as t:
        t.hosts[1].docker("rmi", "-f", SMALL_IMAGE)
        process = t.start("up", t.site.inventory)
        assert process.stderr is not None
        assert any("load " in line for line in iter(process.stderr.readline, ""))
        power_off(t.hosts[1])
        with t.reaction():
            said = t.wait_expecting(process, 4)
        assert "h2: the connection was lost" in said and "Traceback" not in said
        assert cluster_leftovers(t.hosts[:1], t.site.cluster) == {}


def test_host_off_between_up_and_train(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        power_off(t.hosts[1])
        with t.reaction():
            said = t.run_expecting(4, "train", "code/report_environment.py")
        assert f"h2: {t.hosts[1].address}:22" in said
        power_on(t.hosts[1])
        assert_next_job_runs(t)


def test_host_off_in_mid_training_with_restarts(training_trial: TrialFactory) -> None:
    """The head goes on alone, from the last checkpoint."""
    with training_trial() as t:
        process = start_watched(t, "restarted", "--restarts", "1")
        before = checkpoint(t)["step"]
        power_off(t.hosts[1])
        with t.reaction():
            await_step(t, before, ranks=1)
        open_gate(t, "restarted")
        code, out, _ = t.wait(process)
        assert code == 0 and "restarted has come" in out
        assert "h2 stopped answering" in out and "running it again on h1:1 (restart 1 of 1)" in out
        first, again = job_starts(out)
        assert first == (0, 2) and again[1] == 1
        assert again[0] >= before


def test_host_off_in_elastic_training(training_trial: TrialFactory) -> None:
    """The rest go on from the last commit; the host is used again when it is back."""
    with training_trial() as t:
        process = start_watched(t, "elastic", "-np", "2", "--min-np", "1", kind="elastic")
        before = await_step(t, 3, ranks=2)
        power_off(t.hosts[1])
        with t.reaction():
            await_step(t, before, ranks=1)
        alone = checkpoint(t)["step"]
        power_on(t.hosts[1])
        t.site.up()
        await_step(t, alone, ranks=2)
        out = finish_job(t, process, "elastic")
        assert "h2 left the job" in out and "h2 is back and takes part" in out
        first, second, third = job_starts(out)
        assert (first, second[1], third[1]) == ((0, 2), 1, 2)
        # One step is one commit.
        assert second[0] >= before - 1 and third[0] >= alone - 1


def test_host_off_for_good_in_elastic_training(training_trial: TrialFactory) -> None:
    """A new host stands in for it, still in the inventory as it is; should it come back, it is used too."""
    with training_trial(count=3) as t:
        every = inventory_of(t)["hosts"]
        t.site.down()
        change_inventory(t, hosts=every[:2])
        t.site.up()
        process = start_watched(t, "replaced", "-np", "2", "--min-np", "1", kind="elastic")
        await_step(t, 3, ranks=2)
        power_off(t.hosts[1])
        alone = await_step(t, 3, ranks=1)
        change_inventory(t, hosts=every)
        with t.reaction():
            said = t.run_expecting(4, "up", t.site.inventory)
            await_step(t, alone, ranks=2)
        assert f"h2: {t.hosts[1].address}:22 did not answer" in said
        power_on(t.hosts[1])
        t.site.up()
        await_progress(t, ranks=3)
        out = finish_job(t, process, "replaced")
        assert [ranks for _, ranks in job_starts(out)] == [2, 1, 2, 3]


def test_head_off_in_mid_training(training_trial: TrialFactory) -> None:
    """It ends the job, and is named to all who watch; what the others said last comes from their hosts."""
    with training_trial() as t:
        process = start_watched(t, "never")
        job = newest_job(t)
        elsewhere = t.site.cli.cwd / "elsewhere"
        elsewhere.mkdir()
        copy = shutil.copy(t.site.inventory, elsewhere)
        beside = t.site.cli.start("attach", job, "-i", copy, cwd=elsewhere)
        assert beside.stderr is not None
        assert any(f"{job} is running" in line for line in iter(beside.stderr.readline, ""))
        power_off(t.hosts[0])
        with t.reaction():
            err = t.wait_expecting(process, 4)
        for said in (error_text(err), error_text(t.wait_expecting(beside, 4))):
            assert said.startswith("the head h1 does not answer: the job ended with it")
            assert "last words of rank 1 on h2:\n" in said and "the link to the head is gone" in said
        assert job in err
        assert (elsewhere / ".hvdocker" / "jobs" / job / "logs" / "rank-1.log").is_file()
        await_no_ranks(t.site, t.hosts[1:])
