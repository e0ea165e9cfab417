"""Requirements beside the script: one layer on the cluster's image, built once, on every worker of a job."""

import json
import re
import secrets
import subprocess
from collections.abc import Iterator
from typing import Any

import docker
import pytest

from tests.cluster.cli import Result
from tests.cluster.host_snapshot import snapshot
from tests.cluster.images import MIB, BridgeTraffic
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.test_dry_run import Watch
from tests.cluster.training import IMAGE, SCRIPTS, rank_reports

pytestmark = pytest.mark.training

TRAIN = ("train", "job/packages.py", "-np", "2")
SEEN = ("tabulate", "colorama")
WITHOUT_ENGINE = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}


@pytest.fixture(scope="module")
def site(training: LabCluster) -> Iterator[LabCluster]:
    """Images of the tests are gone afterwards, from the hosts and from this machine, which others use too."""
    (training.folder / "job").mkdir()
    script = (SCRIPTS / "packages.py").read_text()
    (training.folder / "job" / "packages.py").write_text(script)
    before = {host.name: layered(host) for host in training.hosts}
    yield training
    training.down("--discard")
    made = {host: layered(host) - before[host.name] for host in training.hosts}
    for host, tags in made.items():
        _docker(host, "rmi", "--force", *tags)
    here = layered(None).intersection(*made.values())
    if here:
        _docker(None, "rmi", "--force", *here)


def _docker(host: LabHost | None, *words: str) -> str:
    if host:
        return host.docker(*words)
    return subprocess.run(["docker", *words], check=True, capture_output=True, text=True).stdout


def layered(host: LabHost | None) -> set[str]:
    """Images with requirements on a host, or on this machine."""
    return set(_docker(host, "images", "--format", "{{.Repository}}:{{.Tag}}", "hvdocker-req").split())


def everything(site: LabCluster) -> dict[str, str]:
    """Containers and images of the hosts, all of them."""
    return {host.name: host.docker("images", "-aq") + host.docker("ps", "-aq") for host in site.hosts}


def made_here(shown: str) -> list[str]:
    """What this machine has of the image that a plan names: the image, and containers that build it."""
    (key,) = set(re.findall("hvdocker-req:([0-9a-f]+)", shown))
    engine = docker.APIClient()
    containers = engine.containers(all=True, filters={"label": f"hvdocker.requirements={key}"})
    found = [*engine.images(f"hvdocker-req:{key}"), *containers]
    return [seen["Id"] for seen in found]


def require(site: LabCluster, *packages: str) -> None:
    """Of this run alone: the line that no Python takes makes the file, and so its layer, a new one."""
    lines = [*packages, f'run-{secrets.token_hex(6)}; python_version < "3"']
    (site.folder / "job" / "requirements.txt").write_text("# for the ranks\n" + "\n".join(lines) + "\n")


def train(site: LabCluster, *flags: str, **how: Any) -> Result:
    return site.run(*TRAIN, *flags, "--", *SEEN, **how)


def packages(result: Result) -> list[dict[str, str]]:
    ranks = rank_reports(result.out)
    assert [rank["host"] for rank in ranks] == ["h1", "h2"]
    assert [rank["may write"] for rank in ranks] == [False, False]
    return [rank["packages"] for rank in ranks]


def layers(host: LabHost, reference: str) -> list[str]:
    (seen,) = json.loads(host.docker("image", "inspect", reference))
    return list(seen["RootFS"]["Layers"])


def worker_images(site: LabCluster) -> dict[str, str]:
    return {host.name: site.inspect_worker(host)["Image"] for host in site.hosts}


@pytest.fixture(scope="module")
def first(site: LabCluster) -> Result:
    require(site, "tabulate==0.9.0", "tensorflow>=2")
    return train(site)


def test_every_rank_has_the_packages_and_may_not_change_them(site: LabCluster, first: Result) -> None:
    assert packages(first) == [{"tabulate": "0.9.0", "colorama": "-"}] * 2


def test_the_packages_are_one_layer_on_the_clusters_image(site: LabCluster, first: Result) -> None:
    assert len(set(worker_images(site).values())) == 1
    for host in site.hosts:
        *below, _top = layers(host, site.inspect_worker(host)["Image"])
        assert below == layers(host, IMAGE)


def test_the_images_own_tensorflow_will_do(site: LabCluster, first: Result) -> None:
    host = site.hosts[0]
    history = host.docker("history", "--human=false", "--format", "{{.Size}}", site.inspect_worker(host)["Image"])
    assert 0 < int(history.splitlines()[0]) < 2 << 20


def test_a_second_train_builds_and_ships_nothing(site: LabCluster, first: Result) -> None:
    before, watch = site.worker_ids(), Watch(site.hosts)
    result = train(site)
    assert packages(result) == packages(first)
    assert site.worker_ids() == before
    assert "as one layer" in first.err and "as one layer" not in result.err
    assert not [event for events in watch.events().values() for event in events if event.startswith("image")]


def test_up_finds_the_cluster_whole(site: LabCluster, first: Result) -> None:
    before = site.worker_ids()
    assert site.up().out == "nothing to do: lab is up on 2 hosts\n"
    assert site.worker_ids() == before
    assert [host["state"] for host in site.status()["hosts"]] == ["running", "running"]


@pytest.mark.parametrize("flags", [("--no-requirements",), ()], ids=["flag", "no file"])
def test_without_requirements_the_workers_are_used_as_they_are(
    site: LabCluster, first: Result, flags: tuple[str, ...]
) -> None:
    before, file = site.worker_ids(), site.folder / "job" / "requirements.txt"
    text = file.read_text()
    if not flags:
        file.unlink()
    try:
        assert packages(train(site, *flags)) == packages(first)
    finally:
        file.write_text(text)
    assert site.worker_ids() == before


def test_a_dry_run_changes_nothing(site: LabCluster, first: Result) -> None:
    other = site.folder / "other.txt"
    other.write_text("colorama\n" + (site.folder / "job" / "requirements.txt").read_text())
    before, watch = (snapshot(site.hosts, with_folder_times=True), everything(site)), Watch(site.hosts)
    shown = train(site, "--requirements", "other.txt", "--dry-run").out
    assert watch.events() == {"h1": [], "h2": []}
    assert (snapshot(site.hosts, with_folder_times=True), everything(site)) == before
    assert made_here(shown) == []
    assert f"this machine  install {other} as one layer: hvdocker-req:" in shown
    for host in site.hosts:
        assert f"{host.name}            load hvdocker-req:" in shown
        assert f"{host.name}            remove {site.worker} (it lacks the requirements)" in shown


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "no-such-package-of-hvdocker==1",
            "ERROR: No matching distribution found for no-such-package-of-hvdocker",
        ),
        ("numpy==1.25.0", "The user requested (constraint) numpy=="),
    ],
    ids=["unknown", "against the image"],
)
def test_what_pip_says_is_shown_and_everything_stays_as_it_was(
    site: LabCluster, first: Result, line: str, words: str
) -> None:
    (site.folder / "bad.txt").write_text(f"{line}\n")
    before = everything(site)
    result = train(site, "--requirements", "bad.txt", check=1)
    assert words in result.err
    assert "pip could not install" in result.err and "bad.txt" in result.err
    assert "Traceback" not in result.err
    assert everything(site) == before
    assert made_here(result.err) == []


def test_a_file_that_cannot_be_used_is_told_before_a_host_is_touched(site: LabCluster, first: Result) -> None:
    (site.folder / "bad.txt").write_text("six\n-e .\n")
    result = train(site, "--requirements", "bad.txt", check=2, env={"HOME": "/nonexistent"})
    assert "bad.txt:2: an editable package" in result.err


def test_a_changed_file_makes_another_layer_and_only_that_travels(lab: Lab, site: LabCluster, first: Result) -> None:
    before, uplink = worker_images(site), BridgeTraffic.of(lab)
    sent = uplink.sent_bytes()
    require(site, "tabulate==0.8.10", "colorama==0.4.6")
    assert packages(train(site)) == [{"tabulate": "0.8.10", "colorama": "0.4.6"}] * 2
    assert uplink.sent_bytes() - sent < 20 * MIB
    after = worker_images(site)
    assert len(set(after.values())) == 1 and set(after.values()).isdisjoint(before.values())
    for host in site.hosts:
        assert layers(host, after[host.name])[:-1] == layers(host, IMAGE)
