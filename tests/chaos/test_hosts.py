"""Hosts that are full, slow, or not what they were; and an inventory that changes while its cluster is up."""

import json
from collections.abc import Callable

from tests.cluster.cli import Cli
from tests.cluster.faults.breaking import fill, small_disk
from tests.cluster.faults.fixtures import Trials
from tests.cluster.faults.jobs import all_is_quiet, error_of, finishes, job_of, next_job_runs, watched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.site import SMALL_IMAGE, Site
from tests.cluster.traces import left_of
from tests.cluster.training import IMAGE

SLOW = "tc qdisc add dev eth0 root tbf rate 2mbit burst 32kbit latency 400ms"


def test_disk_of_the_engine_full_at_up(trial: Trials, special: Callable[..., LabHost], lab: Lab) -> None:
    with trial() as t:
        small = special("small", tmpfs_mb=150)
        mixed = Site.write(lab, t.site.cli, [t.hosts[0], small], cluster="mixed")
        with t.reaction():
            said = mixed.run("up", mixed.inventory, check=3).err
        assert "small: the image needs about" in said
        assert left_of([t.hosts[0], small], "mixed") == {}


def test_disk_full_in_training(training_trial: Trials) -> None:
    """The checkpoint of before stays, and comes home."""
    with training_trial() as t:
        t.site.down()
        with small_disk(t.hosts[0]):
            t.site.up()
            process = watched(t, "never")
            fill(t.hosts[0])
            with t.reaction():
                said = error_of(t.ends(process, 100))
            assert said.startswith("h1: rank 0 failed") and "No space left on device" in said
            all_is_quiet(t)
            job = job_of(t)
            t.site.down()
        home = t.site.folder / ".hvdocker" / "jobs" / job
        assert json.loads((home / "out" / "checkpoint.json").read_text())["step"] >= 3


def test_slow_host(training_trial: Trials) -> None:
    """2 Mbit/s: it is waited for, and nobody takes it for dead."""
    with training_trial() as t:
        t.site.down()
        t.hosts[1].exec(SLOW)
        with t.reaction():
            t.site.up()
        process = watched(t, "slowly")
        finishes(t, process, "slowly")


def test_image_deleted_between_up_and_train(training_trial: Trials) -> None:
    with training_trial() as t:
        t.hosts[0].docker("rmi", "-f", IMAGE)
        with t.reaction():
            done = t.site.run("train", "code/tell.py", check=None)
        if done.code:
            assert "h1" in done.err and "hvdocker up" in done.err
            t.site.up()
        next_job_runs(t)


def test_image_deleted_while_up(trial: Trials) -> None:
    """Workers do not need it any more; `up` brings it back."""
    with trial() as t:
        t.site.up()
        before = t.site.ids()
        t.hosts[1].docker("rmi", "-f", SMALL_IMAGE)
        with t.reaction():
            t.site.up()
        assert t.site.ids() == before and t.hosts[1].has_image(SMALL_IMAGE)
        assert t.site.logins() == t.site.full_mesh()


def test_inventory_gets_a_host_while_up(trial: Trials, lab: Lab, cli: Cli) -> None:
    with trial() as t:
        first = Site.write(lab, cli, t.hosts[:1])
        first.up()
        before = first.ids()
        both = Site.write(lab, cli, t.hosts)
        with t.reaction():
            both.up()
        assert both.ids()["h1"] == before["h1"]
        assert both.logins() == both.full_mesh()


def test_inventory_loses_a_host_while_up(trial: Trials, lab: Lab, cli: Cli) -> None:
    """Its worker stands on a host that nobody names any more: whoever takes the cluster down is told."""
    with trial() as t:
        t.site.up()
        Site.write(lab, cli, t.hosts[:1])
        with t.reaction():
            assert "h2" in t.site.run("up", t.site.inventory).err
        assert "h2" in t.site.run("down", "-y", "-i", t.site.inventory).err
        Site.write(lab, cli, t.hosts)
