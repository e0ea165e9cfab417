"""Hosts that pull from a registry: a real one, with a password, that stays in no file of any host."""

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.images import image_ids, remove_all_images
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster
from tests.cluster.registry import LOGIN, PASSWORD, PULLER, environment, registry

__all__ = ["registry"]  # a fixture

OWN = "own:1"


@pytest.fixture
def site(lab: Lab, cli: Cli, registry: LabHost, special: Callable[..., LabHost]) -> LabCluster:
    hosts = [special(name, engine=PULLER) for name in ("puller1", "puller2")]
    remove_all_images(*hosts)
    registry.load(SMALL_IMAGE)
    return LabCluster.write(lab, cli, hosts, registry=f"{registry.address}:5000/team")


def test_push_then_pull_with_a_password_that_stays_nowhere(site: LabCluster, registry: LabHost) -> None:
    pushed = site.run("image", "push", "-i", site.inventory, env=environment(registry, **LOGIN))
    assert pushed.out == f"{SMALL_IMAGE} is on 2 hosts\n"
    wanted = image_ids([registry], SMALL_IMAGE)[registry.name]
    assert image_ids(site.hosts, SMALL_IMAGE) == {host.name: wanted for host in site.hosts}
    for host in [*site.hosts, registry]:
        # An older build that a host had keeps no name.
        named = host.docker("images", "--filter", "dangling=false", "--format", "{{.Repository}}")
        assert named.split() == [SMALL_IMAGE.partition(":")[0]]
        found = host.attempt(["grep", "-rlsF", PASSWORD, "/root", "/home", "/etc", "/tmp", "/var/tmp"])
        assert found[1] == ""


def test_up_pulls_what_this_machine_does_not_have(site: LabCluster, registry: LabHost) -> None:
    site.run("image", "push", "-i", site.inventory, env=environment(registry, **LOGIN))
    remove_all_images(*site.hosts)
    # This machine has no engine at all now.
    site.run("up", site.inventory, env={"DOCKER_HOST": "unix:///nowhere.sock", **LOGIN})
    assert site.logins() == site.full_mesh()
    site.run("down", "-i", site.inventory, "-y", env={"DOCKER_HOST": "unix:///nowhere.sock"})


@pytest.fixture
def own(site: LabCluster, registry: LabHost, lab: Lab, cli: Cli) -> Iterator[LabCluster]:
    """A cluster of an image that this machine builds again."""
    yield LabCluster.write(lab, cli, site.hosts, image=OWN, registry=f"{registry.address}:5000/team")
    registry.exec(f"docker images -q {OWN} | xargs -r docker rmi -f")


def rebuilt(registry: LabHost, number: int) -> str:
    script = 'printf "FROM %s\\nENV BUILD=%s\\n" "$1" "$2" | docker build -q -t "$3" -'
    return registry.exec(["sh", "-c", script, "sh", SMALL_IMAGE, str(number), OWN]).strip()


def test_a_build_that_was_not_pushed_is_not_replaced_by_an_older_one(own: LabCluster, registry: LabHost) -> None:
    login = environment(registry, **LOGIN)
    first = rebuilt(registry, 1)
    own.run("image", "push", "-i", own.inventory, env=login)
    second = rebuilt(registry, 2)
    said = own.run("up", own.inventory, env=login, check=1).err
    assert f"the registry has another build of {OWN} than this machine" in said
    assert "hvdocker image push puts yours there" in said
    assert image_ids(own.hosts, OWN) == {host.name: first for host in own.hosts}
    assert [host.docker("ps", "-aq") for host in own.hosts] == ["", ""]

    own.run("image", "push", "-i", own.inventory, env=login)
    own.run("up", own.inventory, env=login)
    assert image_ids(own.hosts, OWN) == {host.name: second for host in own.hosts}
    workers = own.worker_ids()
    assert own.run("up", own.inventory, env=login).out == "nothing to do: lab is up on 2 hosts\n"
    assert own.worker_ids() == workers
    own.run("down", "-i", own.inventory, "-y", env=login)
    registry.exec(["docker", "rmi", "-f", first])


def test_names_that_a_person_gave_are_left_alone(own: LabCluster, registry: LabHost) -> None:
    """On this machine and on a host: both have something of their own under the registry's name."""
    remote = f"{registry.address}:5000/team/{OWN}"
    wanted = rebuilt(registry, 3)
    puller = own.hosts[0]
    tiny = puller.tiny_image()
    registry.docker("tag", SMALL_IMAGE, remote)
    puller.docker("tag", tiny, remote)
    before = image_ids([registry], SMALL_IMAGE) | image_ids([puller], tiny)
    try:
        own.run("image", "push", "-i", own.inventory, env=environment(registry, **LOGIN))
        assert image_ids(own.hosts, OWN) == {host.name: wanted for host in own.hosts}
        assert image_ids([registry, puller], remote) == before
        assert image_ids([own.hosts[1]], remote) == {own.hosts[1].name: ""}
    finally:
        registry.exec(["docker", "rmi", remote], check=False)
        puller.exec(["docker", "rmi", remote, tiny], check=False)


def test_a_registry_that_wants_a_password(site: LabCluster, registry: LabHost) -> None:
    result = site.run("image", "push", "-i", site.inventory, env=environment(registry), check=1)
    assert f"pushing {SMALL_IMAGE} to {registry.address}:5000/team failed" in result.err
    assert "HVDOCKER_REGISTRY_USER" in result.err


def test_an_image_that_the_registry_does_not_have(site: LabCluster, registry: LabHost) -> None:
    nowhere = {"DOCKER_HOST": "unix:///nowhere.sock", **LOGIN}
    result = site.run("up", site.inventory, env=nowhere, check=1)
    assert "hvdocker image push puts it there" in result.err
    assert [host.docker("ps", "-aq") for host in site.hosts] == ["", ""]
