"""What `image check` and `image ls` say about images on this machine and on hosts."""

import json
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.images import Images, images
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster


@pytest.fixture
def own(lab: Lab) -> Iterator[Images]:
    with images(lab) as made:
        yield made


def test_an_image_of_ours_can_serve_here_and_on_a_host(lab: Lab, cli: Cli) -> None:
    (host,) = lab.fresh(1)
    site = LabCluster.write(lab, cli, [host])
    site.run("image", "push", "-i", site.inventory)
    here = json.loads(site.run("image", "check", "base", "--json").out)
    assert (here["image"], here["can_serve"], here["launchers"]) == (SMALL_IMAGE, True, ["each"])
    there = json.loads(site.run("image", "check", "base", "--on", host.name, "-i", site.inventory, "--json").out)
    assert there == here


def test_an_image_without_a_shell_is_judged_and_refused(lab: Lab, cli: Cli, own: Images) -> None:
    own.build("team/binary:1", 10)
    checked = cli.run("image", "check", "team/binary:1", check=1)
    assert "team/binary:1 cannot serve" in checked.out and "it has no shell (/bin/sh)" in checked.out
    refused = cli.run("image", "build", "--from", "team/binary:1", check=1)
    assert "has no shell: nothing can be installed in it" in refused.err


def test_an_image_that_is_another_build_on_one_host_is_marked(lab: Lab, cli: Cli, own: Images) -> None:
    hosts = lab.fresh(2)
    own.build("doc-hvd-test:1", 100)
    site = LabCluster.write(lab, cli, hosts, image="doc-hvd-test:1")
    site.run("image", "push", "-i", site.inventory)
    own.build("doc-hvd-test:1", 100)
    listed = json.loads(site.run("image", "ls", site.inventory, "--json").out)
    differing = {entry["host"]: entry["differs"] for entry in listed["images"] if entry["name"] == "doc-hvd-test:1"}
    assert differing == {"here": True, hosts[0].name: False, hosts[1].name: False}
    shown = site.run("image", "ls", site.inventory).out
    assert [line.split()[1] for line in shown.splitlines() if "another build" in line] == ["here"]
