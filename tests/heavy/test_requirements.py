"""Requirements where hosts differ, where this machine has no engine, and as a script."""

import pytest

from tests.cluster.cli import Result
from tests.cluster.lab import Lab
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.test_dry_run import run_by_bash
from tests.cluster.test_training_requirements import (
    SEEN,
    TRAIN,
    WITHOUT_ENGINE,
    first,
    layered,
    packages,
    require,
    site,
    train,
    worker_images,
)
from tests.cluster.training import DEADLINE_S, rank_reports

pytestmark = pytest.mark.training

__all__ = ["first", "site"]


def test_hosts_that_differ_go_back_to_the_clusters_image(site: LabCluster, first: Result) -> None:
    require(site, "tabulate==0.9.0")
    (rank,) = rank_reports(site.run(*TRAIN[:2], "-H", "h1:1", "--", *SEEN).out)
    assert rank["packages"] == {"tabulate": "0.9.0", "colorama": "-"}
    assert len(set(worker_images(site).values())) == 2
    assert site.up().out.startswith("nothing to do")
    assert packages(train(site, "--no-requirements")) == [dict.fromkeys(SEEN, "-")] * 2
    assert len(set(worker_images(site).values())) == 1


def test_a_machine_without_an_engine_lets_the_head_build(site: LabCluster, first: Result) -> None:
    require(site, "colorama==0.4.6")
    before = {host.name: layered(host) for host in site.hosts}
    assert packages(train(site, env=WITHOUT_ENGINE)) == [{"tabulate": "-", "colorama": "0.4.6"}] * 2
    for host in site.hosts:
        (made,) = layered(host) - before[host.name]
        assert made not in layered(None)
    assert len(set(worker_images(site).values())) == 1


def test_the_script_of_a_dry_run_does_the_same(lab: Lab, site: LabCluster, first: Result) -> None:
    require(site, "colorama==0.4.5")
    run_by_bash(lab, site, train(site, "--dry-run", "--script").out)
    job = site.status()["jobs"][0]["job"]
    until(lambda: _has_ended(site, job) or None, f"{job} ends and gives its slots back", DEADLINE_S)
    logged = until(lambda: _whole_log(site, job), f"both ranks of {job} tell", DEADLINE_S)
    assert packages(logged) == [{"tabulate": "-", "colorama": "0.4.5"}] * 2
    before = site.worker_ids()
    assert packages(train(site)) == [{"tabulate": "-", "colorama": "0.4.5"}] * 2
    assert site.worker_ids() == before


def _has_ended(site: LabCluster, job: str) -> bool:
    return [seen["state"] for seen in site.status()["jobs"] if seen["job"] == job] == ["ended"]


def _whole_log(site: LabCluster, job: str) -> Result | None:
    result = site.run("logs", job)
    return result if len(rank_reports(result.out)) == 2 else None
