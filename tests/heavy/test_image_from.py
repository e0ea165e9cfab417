"""Images of the user's own: built on, checked, brought up on two hosts, trained on, and listed."""

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

import docker
import pytest

from hvdocker.images.build.base_image import ensure_base_image
from tests.cluster.cli import Cli
from tests.cluster.images import Images, images
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.rank_checks import assert_ranks
from tests.cluster.training import SCRIPTS, rank_reports

# A user, an entrypoint that does not end, and a `python` that is theirs and not the system's.
OWN_USER = """\
FROM hvdocker/debian:bookworm
COPY python /opt/theirs/bin/python
RUN useradd --create-home app && chmod 0755 /opt/theirs/bin/python
ENV PATH=/opt/theirs/bin:/usr/local/bin:/usr/bin:/bin TEAM="two words"
USER app
WORKDIR /home/app
ENTRYPOINT ["/bin/sleep", "infinity"]
"""
THEIR_PYTHON = "#!/bin/sh\necho this is their python\n"
# These images have no framework, and `python` may be anything: `python3` is the system's in all of them.
TRAIN = ("train", "--workdir", "code", "-np", "2", "--", "python3", "weights_plain.py")


@dataclass(frozen=True)
class OwnImage:
    """A user's image: its Dockerfile, what `python` says in a worker, and the Debian release it is of."""

    dockerfile: str
    python: str
    suite: str = "bookworm"


KINDS = {
    "bare": OwnImage("FROM hvdocker/debian:bookworm\n", "Python 3.11"),
    "own-user": OwnImage(OWN_USER, "this is their python"),
    "trixie": OwnImage("FROM hvdocker/debian:trixie\n", "Python 3.13", "trixie"),
}


@pytest.fixture
def own(lab: Lab) -> Iterator[Images]:
    with images(lab) as made:
        yield made


def build_user_image(engine: docker.APIClient, tag: str, dockerfile: str) -> None:
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, text in (("Dockerfile", dockerfile), ("python", THEIR_PYTHON), ("program", "")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    context.seek(0)
    events = list(engine.build(fileobj=context, custom_context=True, tag=tag, rm=True, decode=True))
    assert not any("error" in event for event in events), events


@pytest.mark.parametrize("kind", KINDS)
def test_an_own_image_becomes_one_that_serves(lab: Lab, cli: Cli, own: Images, kind: str) -> None:
    image, tag = KINDS[kind], f"team/{kind}:7"
    ensure_base_image(lab.engine, image.suite, lambda line: None)
    build_user_image(lab.engine, tag, image.dockerfile)
    own.made += [tag, f"hvdocker/{tag}"]
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, cli, hosts, image=tag)

    refused = site.run("up", site.inventory, check=1)
    assert f"→ hvdocker image build --from {tag}\n" in refused.err
    assert "it has no sshd" in site.run("image", "check", tag, check=1).out

    built = site.run("image", "build", "--from", tag)
    assert built.out == f"hvdocker/{tag}\n" and f"hvdocker up --image hvdocker/{tag}" in built.err
    checked = json.loads(site.run("image", "check", f"hvdocker/{tag}", "--json").out)
    assert (checked["can_serve"], checked["launcher"], checked["launchers"]) == (True, "each", ["each"])

    site = LabCluster.write(lab, cli, hosts, image=f"hvdocker/{tag}")
    site.up()
    assert site.logins() == site.full_mesh()
    told = site.run("exec", "--", "sh", "-c", "python -V; echo $TEAM; ls -d /train /out").out
    assert image.python in told and ("two words" in told) is (kind == "own-user")
    assert_two_hosts_train(site)
    listed = json.loads(site.run("image", "ls", site.inventory, "--json").out)
    mine = [entry for entry in listed["images"] if entry["name"] == f"hvdocker/{tag}"]
    assert [entry["host"] for entry in mine] == ["here", *(host.name for host in hosts)]
    assert not any(entry["differs"] for entry in mine) and listed["lacking"] == []
    site.down()


def assert_two_hosts_train(site: LabCluster) -> None:
    """Assert that two ranks end with equal weights if they average their gradients, and only then."""
    (site.folder / "code").mkdir()
    for name in ("weights_plain.py", "ranks.py"):
        shutil.copy(SCRIPTS / name, site.folder / "code")
    ranks = rank_reports(site.run(*TRAIN).out)
    assert_ranks(ranks, site.hosts, hashes=1)
    assert all(rank["losses"][-1] < rank["losses"][0] / 2 for rank in ranks)
    assert_ranks(rank_reports(site.run(*TRAIN, "--alone").out), site.hosts, hashes=2)
