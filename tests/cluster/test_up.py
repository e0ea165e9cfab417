"""`up` on two hosts: what stands there afterwards, and what a second one finds and mends."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab
from tests.cluster.lab.spec import PREFIX
from tests.cluster.lab_cluster import SMALL_IMAGE, SSH_FOLDER, LabCluster


@pytest.fixture(scope="module")
def shared(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    site = LabCluster.write(lab, desk, lab.fresh(2))
    site.up()
    yield site
    site.down()
    assert cluster_leftovers(site.hosts, site.cluster) == {}


@pytest.fixture
def site(shared: LabCluster) -> LabCluster:
    """Whole and running, whatever the test before did to it."""
    shared.up()
    return shared


def test_workers_run_and_carry_the_labels_of_the_design(site: LabCluster) -> None:
    for host in site.hosts:
        seen = site.inspect_worker(host)
        assert seen["State"]["Running"] is True
        labels = seen["Config"]["Labels"]
        assert labels["hvdocker.cluster"] == "lab"
        assert labels["hvdocker.host"] == host.name
        assert labels["hvdocker.role"] == "worker"
        assert {"hvdocker.owner", "hvdocker.spec", "hvdocker.version"} <= set(labels)
    assert [(h["name"], h["state"], h["address"], h["slots"]) for h in site.status()["hosts"]] == [
        (host.name, "running", host.address, 1) for host in site.hosts
    ]


def test_workers_have_no_privileges(site: LabCluster) -> None:
    for host in site.hosts:
        seen = site.inspect_worker(host)
        config = seen["HostConfig"]
        assert seen["Config"]["User"] == "1000:1000"
        assert config["CapDrop"] == ["ALL"] and not config["CapAdd"] and config["Privileged"] is False
        assert config["SecurityOpt"] == ["no-new-privileges"]
        assert config["NetworkMode"] == "host" and config["Init"] is True
        assert config["RestartPolicy"]["Name"] == "unless-stopped"
        assert config["LogConfig"]["Type"] == "json-file"
        assert {"max-size", "max-file"} <= set(config["LogConfig"]["Config"])
        status = site.exec_in_worker(host, "cat", "/proc/1/status")[1]
        words = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert int(words["CapEff"], 16) == 0 and int(words["CapBnd"], 16) == 0
        assert words["Uid"].split() == ["1000"] * 4 and words["NoNewPrivs"] == "1"


def test_private_keys_lie_only_inside_the_containers(site: LabCluster) -> None:
    for host in site.hosts:
        for name in ("id_ed25519", "host_ed25519_key"):
            path = f"{SSH_FOLDER}/{name}"
            assert site.exec_in_worker(host, "stat", "-c", "%a %u:%g", path)[1] == "600 1000:1000\n"
            # The last whole line of an ed25519 key is its secret half; the first ones are alike for all keys.
            secret = site.exec_in_worker(host, "cat", path)[1].splitlines()[-3]
            assert secret not in json.dumps(site.inspect_worker(host))
            search = f"-type f -size -2000k -exec grep -lF {shlex.quote(secret)} {{}} +"
            assert host.exec(f"find / /dev/shm /run -xdev {search}; true") == ""
            assert host.exec(f"find /var/lib/docker -path '*/overlay2' -prune -o {search}; true") == ""
            assert host.exec(f"find /var/lib/docker/overlay2 -name {name} {search}; true") != ""
            here = [path for path in site.cli.cwd.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
            assert here == []


def test_workers_log_into_each_other_and_check_host_keys(site: LabCluster) -> None:
    h1, h2 = site.hosts
    assert site.logins() == site.full_mesh()
    # h2 under the key of h1: as if somebody had taken its place.
    wrong = f"awk '/{h1.address}/ {{key=$3}} {{$3=key}} 1' {SSH_FOLDER}/known_hosts > /tmp/wrong"
    assert site.exec_in_worker(h1, "sh", "-c", wrong)[0] == 0
    # The launcher asks for no checking at all: it is checked nevertheless.
    argv = ["ssh", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/tmp/wrong"]
    code, _, err = site.exec_in_worker(h1, *argv, h2.address, "true")
    assert code == 255 and "Host key verification failed" in err
    assert site.exec_in_worker(h1, *argv, h1.address, "true")[0] == 0


def test_a_second_up_has_nothing_to_do(site: LabCluster) -> None:
    before = site.worker_ids()
    assert site.up().out == "nothing to do: lab is up on 2 hosts\n"
    assert site.worker_ids() == before


def test_a_changed_setting_replaces_the_worker(lab: Lab, site: LabCluster) -> None:
    other = LabCluster.write(lab, site.cli, site.hosts[:1], cluster="settings", shm="128MB")
    other.up()
    before = other.worker_ids()
    changed = LabCluster.write(lab, site.cli, site.hosts[:1], cluster="settings", shm="256MB")
    changed.up()
    assert changed.worker_ids() != before
    assert changed.inspect_worker(site.hosts[0])["HostConfig"]["ShmSize"] == 256 << 20
    assert changed.up().out.startswith("nothing to do")
    changed.down()
    assert cluster_leftovers(site.hosts, "settings") == {}


def test_a_killed_worker_is_started_again(site: LabCluster) -> None:
    before = site.worker_ids()
    site.hosts[1].docker("kill", site.worker)
    assert [host["state"] for host in site.status()["hosts"]] == ["running", "exited"]
    site.up()
    assert site.worker_ids() == before
    assert site.logins() == site.full_mesh()


@pytest.mark.parametrize("victim", [0, 1])
def test_a_removed_worker_is_replaced_and_trusted_by_the_others(site: LabCluster, victim: int) -> None:
    before = site.worker_ids()
    gone, kept = site.hosts[victim], site.hosts[1 - victim]
    gone.docker("rm", "-f", site.worker)
    site.up()
    assert site.worker_ids()[kept.name] == before[kept.name]
    assert site.logins() == site.full_mesh()


def test_another_laptop_finds_the_same_cluster(lab: Lab, site: LabCluster, cli: Cli, tmp_path: Path) -> None:
    elsewhere = LabCluster.write(lab, cli, site.hosts)
    assert elsewhere.inventory != site.inventory
    env = {"HVDOCKER_OWNER": "somebody-else"}
    assert elsewhere.run("up", elsewhere.inventory, env=env).out.startswith("nothing to do")
    assert elsewhere.status() == site.status()


def test_hosts_on_the_command_line_with_keys_from_ssh_config(lab: Lab, site: LabCluster, cli: Cli) -> None:
    (cli.home / ".ssh" / "config").write_text(f"Host {PREFIX}*\n  IdentityFile {lab.state.key}\n")
    folder = cli.cwd / "flagged"
    folder.mkdir()
    targets = ",".join(f"trainer@{host.address}" for host in site.hosts)
    cli.run("up", "--hosts", targets, "--image", SMALL_IMAGE, cwd=folder, check=0)
    report = json.loads(cli.run("status", "--json", cwd=folder, check=0).out)
    assert [(host["host"], host["state"]) for host in report["hosts"]] == [
        (host.address, "running") for host in site.hosts
    ]
    cli.run("down", cwd=folder, check=0)
    assert cluster_leftovers(site.hosts, "flagged") == {}
    assert not (folder / ".hvdocker").exists()
