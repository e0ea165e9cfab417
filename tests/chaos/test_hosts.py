"""Hosts that are full, slow, or not what they were; and an inventory that changes while its cluster is up."""

import json
from collections.abc import Callable

from tests.cluster.cli import Cli
from tests.cluster.faults.fault_injection import fill_disk, small_disk
from tests.cluster.faults.fixtures import TrialFactory
from tests.cluster.faults.jobs import (
    assert_next_job_runs,
    assert_no_ranks_left,
    error_text,
    finish_job,
    newest_job,
    start_watched,
)
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster
from tests.cluster.training import IMAGE

SLOW = "tc qdisc add dev eth0 root tbf rate 2mbit burst 32kbit latency 400ms"


def test_disk_of_the_engine_full_at_up(trial: TrialFactory, special: Callable[..., LabHost], lab: Lab) -> None:
    with trial() as t:
        small = special("small", tmpfs_mb=150)
        mixed = LabCluster.write(lab, t.site.cli, [t.hosts[0], small], cluster="mixed")
        with t.reaction():
            said = mixed.run("up", mixed.inventory, check=3).err
        assert "small: the image needs about" in said
        assert cluster_leftovers([t.hosts[0], small], "mixed") == {}


def test_disk_full_in_training(training_trial: TrialFactory) -> None:
    """The checkpoint of before stays, and comes home."""
    with training_trial() as t:
        t.site.down()
        with small_disk(t.hosts[0]):
            t.site.up()
            process = start_watched(t, "never")
            fill_disk(t.hosts[0])
            with t.reaction():
                said = error_text(t.wait_expecting(process, 100))
            assert said.startswith("h1: rank 0 failed") and "No space left on device" in said
            assert_no_ranks_left(t)
            job = newest_job(t)
            t.site.down()
        home = t.site.folder / ".hvdocker" / "jobs" / job
        assert json.loads((home / "out" / "checkpoint.json").read_text())["step"] >= 3


def test_slow_host(training_trial: TrialFactory) -> None:
    """2 Mbit/s: it is waited for, and nobody takes it for dead."""
    with training_trial() as t:
        t.site.down()
        t.hosts[1].exec(SLOW)
        with t.reaction():
            t.site.up()
        process = start_watched(t, "slowly")
        finish_job(t, process, "slowly")


def test_image_deleted_between_up_and_train(training_trial: TrialFactory) -> None:
    with training_trial() as t:
        t.hosts[0].docker("rmi", "-f", IMAGE)
        with t.reaction():
            done = t.site.run("train", "code/report_environment.py", check=None)
        if done.code:
            assert "h1" in done.err and "hvdocker up" in done.err
            t.site.up()
        assert_next_job_runs(t)


def test_image_deleted_while_up(trial: TrialFactory) -> None:
    """Workers do not need it any more; `up` brings it back."""
    with trial() as t:
        t.site.up()
        before = t.site.worker_ids()
        t.hosts[1].docker("rmi", "-f", SMALL_IMAGE)
        with t.reaction():
            t.site.up()
        assert t.site.worker_ids() == before and t.hosts[1].has_image(SMALL_IMAGE)
        assert t.site.logins() == t.site.full_mesh()


def test_inventory_gets_a_host_while_up(trial: TrialFactory, lab: Lab, cli: Cli) -> None:
    with trial() as t:
        first = LabCluster.write(lab, cli, t.hosts[:1])
        first.up()
        before = first.worker_ids()
        both = LabCluster.write(lab, cli, t.hosts)
        with t.reaction():
            both.up()
        assert both.worker_ids()["h1"] == before["h1"]
        assert both.logins() == both.full_mesh()


def test_inventory_loses_a_host_while_up(trial: TrialFactory, lab: Lab, cli: Cli) -> None:
    """Its worker stands on a host that nobody names any more: `down` says so."""
    with trial() as t:
        t.site.up()
        LabCluster.write(lab, cli, t.hosts[:1])
        with t.reaction():
            assert "h2" in t.site.run("up", t.site.inventory).err
        assert "h2" in t.site.run("down", "-y", "-i", t.site.inventory).err
        LabCluster.write(lab, cli, t.hosts)
