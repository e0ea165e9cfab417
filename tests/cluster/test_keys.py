"""`keys rotate`: new keys on all hosts, the old ones are refused, also after failures and interruptions."""

import signal
from collections.abc import Iterator

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SSH_FOLDER, LabCluster

OLD = "/run/hvdocker/home/old"


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    """Two hosts whose cluster the tests of this file share."""
    found = LabCluster.write(lab, desk, lab.fresh(2))
    refused = desk.run("keys", "rotate", "-i", found.inventory, check=1).err
    assert "the cluster lab is not up" in refused and "hvdocker up" in refused
    found.up()
    try:
        yield found
    finally:
        found.down("--discard")
    assert cluster_leftovers(found.hosts, found.cluster) == {}


def keys(site: LabCluster, label: str) -> dict[str, str]:
    return {host.name: site.inspect_worker(host)["Config"]["Labels"][f"hvdocker.{label}"] for host in site.hosts}


def private_key(site: LabCluster, host: LabHost) -> str:
    code, out, err = site.exec_in_worker(host, "cat", f"{SSH_FOLDER}/id_ed25519")
    assert code == 0, err
    return out


def login_with(site: LabCluster, start: LabHost, key: str, end: LabHost) -> tuple[int, str]:
    """From inside a worker, with that key alone, believing any host key."""
    port = site.inspect_worker(end)["Config"]["Labels"]["hvdocker.port"]
    script = (
        f'umask 077; printf %s "$1" > {OLD}; exec /usr/bin/ssh -F none -i {OLD} -o IdentitiesOnly=yes '
        '-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p "$2" "hvd@$3" true'
    )
    code, _, err = site.exec_in_worker(start, "sh", "-c", script, "login", key, port, end.address)
    return code, err


def assert_new_and_whole(site: LabCluster, before: dict[str, dict[str, str]]) -> None:
    """Every key is another, all workers share one client key, and everybody knows everybody."""
    clients, hosts = keys(site, "clientkey"), keys(site, "hostkey")
    assert len(set(clients.values())) == 1 and len(set(hosts.values())) == len(site.hosts)
    assert not set(clients.values()) & set(before["clientkey"].values())
    assert not set(hosts.values()) & set(before["hostkey"].values())
    for host in site.hosts:
        _, pinned, _ = site.exec_in_worker(host, "cat", f"{SSH_FOLDER}/known_hosts")
        assert {" ".join(line.split()[1:]) for line in pinned.splitlines()} == set(hosts.values())
    assert site.logins() == site.full_mesh()
    assert "nothing to do" in site.up().out


def test_every_key_is_new_and_the_old_one_is_denied(site: LabCluster) -> None:
    before = {label: keys(site, label) for label in ("clientkey", "hostkey")}
    old = private_key(site, site.hosts[0])
    shown = site.run("keys", "rotate", "--dry-run").out
    assert shown.count("the keys are rotated") == 2 and "make a client key" in shown
    assert {label: keys(site, label) for label in before} == before
    assert site.run("keys", "rotate").out == "the keys of lab are new on 2 hosts\n"
    assert_new_and_whole(site, before)
    new = private_key(site, site.hosts[0])
    for start in site.hosts:
        for end in site.hosts:
            code, err = login_with(site, start, old, end)
            assert code == 255 and "Permission denied (publickey)" in err
            assert login_with(site, start, new, end)[0] == 0


def test_another_owners_keys_are_left_alone(site: LabCluster) -> None:
    before = keys(site, "clientkey")
    other = {"HVDOCKER_OWNER": "somebody-else"}
    assert "belongs to" in site.run("keys", "rotate", env=other, check=1).err
    assert keys(site, "clientkey") == before


def test_a_rotation_that_got_half_way_is_mended_by_up(lab: Lab, site: LabCluster) -> None:
    before = {label: keys(site, label) for label in ("clientkey", "hostkey")}
    half = lab.write_inventory(site.folder / "half.yaml", site.hosts[:1], image="doc-hvd:base", cluster=site.cluster)
    site.run("keys", "rotate", "-i", half)
    assert len(set(keys(site, "clientkey").values())) == 2
    assert "a rotation of keys was cut off" in site.run("up", site.inventory, "--dry-run").out
    site.up()
    assert_new_and_whole(site, before)


def test_a_rotation_that_is_interrupted_is_mended_by_up(site: LabCluster) -> None:
    process = site.cli.start("keys", "rotate", cwd=site.folder)
    assert process.stderr is not None
    while "create hvdocker-lab-worker" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "the rotation is not finished" in err and "finish it: hvdocker keys rotate" in err
    site.up()
    assert len(set(keys(site, "clientkey").values())) == 1
    assert site.logins() == site.full_mesh()
    assert "nothing to do" in site.up().out
