"""Hosts that lose their power, at every time of a cluster's life."""

from tests.cluster.faults.breaking import power_off, power_on
from tests.cluster.faults.fixtures import Trials
from tests.cluster.faults.jobs import (
    STEADY,
    await_step,
    checkpoint,
    error_of,
    finishes,
    job_of,
    next_job_runs,
    open_gate,
    watched,
)
from tests.cluster.faults.trial import DEADLINE_S
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import until
from tests.cluster.site import SMALL_IMAGE
from tests.cluster.traces import left_of


def test_host_off_before_up(trial: Trials) -> None:
    with trial() as t:
        power_off(t.hosts[1])
        with t.reaction():
            said = t.fails(4, "up", t.site.inventory)
        assert f"h2: {t.hosts[1].address}:22" in said and "h1" not in said
        assert left_of(t.hosts[:1], t.site.cluster) == {}


def test_host_off_while_its_image_travels(trial: Trials) -> None:
    with trial() as t:
        t.hosts[1].docker("rmi", "-f", SMALL_IMAGE)
        process = t.start("up", t.site.inventory)
        assert process.stderr is not None
        assert any("load " in line for line in iter(process.stderr.readline, ""))
        power_off(t.hosts[1])
        with t.reaction():
            said = t.ends(process, 4)
        assert "h2: the connection was lost" in said and "Traceback" not in said
        assert left_of(t.hosts[:1], t.site.cluster) == {}


def test_host_off_between_up_and_train(training_trial: Trials) -> None:
    with training_trial() as t:
        power_off(t.hosts[1])
        with t.reaction():
            said = t.fails(4, "train", "code/tell.py")
        assert f"h2: {t.hosts[1].address}:22" in said
        power_on(t.hosts[1])
        t.site.up()
        next_job_runs(t)


def test_host_off_in_mid_training_with_restarts(training_trial: Trials) -> None:
    """The head goes on alone, from the last checkpoint."""
    with training_trial() as t:
        process = watched(t, "restarted", "--restarts", "1")
        before = checkpoint(t)["step"]
        power_off(t.hosts[1])
        with t.reaction():
            assert await_step(t, before, ranks=1) >= before
        open_gate(t, "restarted")
        code, out, err = t.end_of(process)
        assert code == 0 and "restarted has come" in out
        assert "h2" in out + err


def test_host_off_in_elastic_training(training_trial: Trials) -> None:
    """The rest go on from the last commit; the host is used again when it is back."""
    with training_trial() as t:
        process = watched(t, "elastic", "-np", "2", "--min-np", "1", script="supple.py")
        before = await_step(t, 3, ranks=2)
        power_off(t.hosts[1])
        with t.reaction():
            assert await_step(t, before, ranks=1) >= before
        power_on(t.hosts[1])
        t.site.up()
        await_step(t, before, ranks=2)
        finishes(t, process, "elastic")


def test_head_off_in_mid_training(training_trial: Trials) -> None:
    """It ends the job, and is named; what the others said last comes from their hosts."""
    with training_trial() as t:
        process = watched(t, "never")
        job = job_of(t)
        power_off(t.hosts[0])
        with t.reaction():
            said = error_of(t.end_of(process)[2])
        assert "h1" in said and "head" in said
        assert job in said
        until(lambda: rank_is_gone(t.hosts[1]) or None, "no rank outlives the head", DEADLINE_S)


def rank_is_gone(host: LabHost) -> bool:
    return host.attempt(["pgrep", "-f", f"python.*{STEADY}"])[0] == 1
