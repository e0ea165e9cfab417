"""The same image on engines that name it differently: a classic one, and one with containerd's store."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hvdocker.model.seen import image_content
from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabHost
from tests.cluster.site import SMALL_IMAGE, Site
from tests.cluster.traces import left_of

STORE = {"suite": "trixie", "engine": '{"features": {"containerd-snapshotter": true}}'}


@pytest.fixture
def pair(
    hosts: Callable[[int], list[LabHost]], special: Callable[..., LabHost]
) -> Iterator[tuple[LabHost, LabHost]]:
    (classic,), store = hosts(1), special("store", **STORE)
    yield classic, store


def inspected(host: LabHost) -> dict[str, Any]:
    (seen,) = json.loads(host.docker("image", "inspect", SMALL_IMAGE))
    return dict(seen)


def test_an_image_keeps_its_content_between_stores(pair: tuple[LabHost, LabHost]) -> None:
    for host in pair:
        host.load(SMALL_IMAGE)
    classic, store = map(inspected, pair)
    assert classic["Id"] != store["Id"]
    assert image_content(classic) == image_content(store)


def test_a_cluster_of_both_stores(lab: Lab, cli: Cli, pair: tuple[LabHost, LabHost]) -> None:
    """The image is loaded by `up` itself: what arrives is checked by content."""
    pair[1].exec(f"docker image rm --force {SMALL_IMAGE}")
    site = Site.write(lab, cli, list(pair))
    site.up()
    assert site.logins() == site.full_mesh()
    before = site.ids()
    assert site.up().out == "nothing to do: lab is up on 2 hosts\n"
    assert site.ids() == before
    site.down()
    assert left_of(site.hosts, site.cluster) == {}
