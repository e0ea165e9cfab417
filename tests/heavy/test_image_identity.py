"""The same image on engines that name it differently: a classic one, and one with containerd's store."""

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import docker
import pytest

from hvdocker.observe.state import image_content
from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

STORE = {"suite": "trixie", "engine": '{"features": {"containerd-snapshotter": true}}'}


@pytest.fixture
def pair(hosts: Callable[[int], list[LabHost]], special: Callable[..., LabHost]) -> Iterator[tuple[LabHost, LabHost]]:
    (classic,), store = hosts(1), special("store", **STORE)
    yield classic, store


def inspected(host: LabHost, reference: str = SMALL_IMAGE) -> dict[str, Any]:
    (seen,) = json.loads(host.docker("image", "inspect", reference))
    return dict(seen)


def test_an_image_keeps_its_content_between_stores(pair: tuple[LabHost, LabHost]) -> None:
    for host in pair:
        host.load(SMALL_IMAGE)
    classic, store = map(inspected, pair)
    assert classic["Id"] != store["Id"]
    assert image_content(classic) == image_content(store)


@pytest.fixture
def site(lab: Lab, cli: Cli, pair: tuple[LabHost, LabHost]) -> Iterator[LabCluster]:
    """Both stores in one cluster. The image is loaded by `up` itself: what arrives is checked by content."""
    pair[1].exec(f"docker image rm --force {SMALL_IMAGE}")
    site = LabCluster.write(lab, cli, list(pair))
    site.up()
    yield site
    site.down("--discard")
    assert cluster_leftovers(site.hosts, site.cluster) == {}


def test_a_cluster_of_both_stores_is_whole(site: LabCluster) -> None:
    assert site.logins() == site.full_mesh()
    before = site.worker_ids()
    assert site.up().out == "nothing to do: lab is up on 2 hosts\n"
    assert site.worker_ids() == before
    plan = site.run("train", "--dry-run", "--", "true").out
    assert "create hvdocker-lab-true-" in plan and "remove" not in plan


def test_requirements_are_the_same_in_both_stores(site: LabCluster) -> None:
    unique = f'run-{secrets.token_hex(6)}; python_version < "3"'
    (site.folder / "requirements.txt").write_text(f"tabulate==0.9.0\n{unique}\n")
    site.run("train", "--", "true")
    images = {host.name: site.inspect_worker(host)["Config"]["Image"] for host in site.hosts}
    assert len(set(images.values())) == 1 and images["h1"].startswith("hvdocker-req:")
    contents = {image_content(inspected(host, images[host.name])) for host in site.hosts}
    assert len(contents) == 1
    for host in site.hosts:
        told = site.exec_in_worker(host, "python", "-c", "import tabulate; print(tabulate.__version__)")
        assert told == (0, "0.9.0\n", "")
    assert site.up().out == "nothing to do: lab is up on 2 hosts\n"
    plan = site.run("train", "--dry-run", "--", "true").out
    assert "create hvdocker-lab-true-" in plan
    assert not any(word in plan for word in ("install", "load", "remove"))
    site.down("--discard")
    docker.APIClient().remove_image(images["h1"], force=True)
    for host in site.hosts:
        host.docker("image", "rm", "--force", images[host.name])
