"""Elastic training with all launchers that can: what `make test` tries with Horovod, and a host that is new."""

from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.test_training_elastic import *  # noqa: F403 - its tests and fixtures are collected here too
from tests.cluster.test_training_elastic import DEADLINE_S, await_line, begin
from tests.cluster.training import DATA, await_no_ranks

LAUNCHERS = ("horovod", "torchrun")


def test_a_new_host_of_the_inventory_joins_with_up(lab: Lab, elastic: LabCluster, launcher: LauncherCase) -> None:
    hosts = lab.ensure(3)
    # It may have three, so it begins with the two that there are.
    job = begin(elastic, "-np", "1", "--max-np", "3", steps=1500)
    await_line(elastic, job, r"step \d+, loss .*, 2 ranks")
    settings = {"mounts": [f"{DATA}:/data:ro"], **launcher.settings}
    lab.write_inventory(elastic.inventory, hosts, cluster=elastic.cluster, **settings)
    elastic.run("up", elastic.inventory)
    assert "nothing to do" in elastic.up().out
    await_line(elastic, job, r"step \d+, loss .*, 3 ranks")
    # The new host's slot is the job's for as long as it runs.
    refused = elastic.run("train", "-np", "1", "--", "true", check=6)
    assert job in refused.err
    elastic.run("attach", job, timeout=DEADLINE_S)
    every = LabCluster(elastic.cli, hosts, elastic.inventory, elastic.cluster)
    await_no_ranks(every)
    assert every.run("train", "-np", "3", "--", "true").code == 0
