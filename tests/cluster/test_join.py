"""Hosts that come, come back and go while an elastic job runs. Its master stands by itself here: a container
with a master's labels that waits, so that no job can be faster than a test."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import SMALL_IMAGE, SSH_FOLDER, LabCluster

JOB = "train-abcd"
MASTER = f"hvdocker-lab-{JOB}"
SECRET = f"/run/hvdocker/secrets/{JOB}/TOKEN"
GUIDE = """
set -e
mkdir -p {folder}/jobs/{job}/out {folder}/jobs/{job}/logs
echo 'print(1)' > {folder}/code/train.py
cat > {folder}/jobs/{job}/job.json
"""


def start_master(site: LabCluster, head: LabHost) -> None:
    job_hosts = [{"name": host.name, "address": host.address, "slots": 1} for host in site.hosts]
    told = {"job": JOB, "host": head.name, "hosts": job_hosts, "env": {"X": "a b"}, "secrets": ["TOKEN"]}
    head.exec(
        f"printf %s '{json.dumps(told)}' | ({GUIDE.format(folder=site.folder_on(head), job=JOB)})", user="trainer"
    )
    labels = {
        "cluster": "lab", "host": head.name, "role": "master", "job": JOB, "owner": "ada", "elastic": "1:4",
        "placement": json.dumps({host.name: 1 for host in site.hosts}), "secrets": "TOKEN",
    }  # fmt: skip
    words = [word for name, value in labels.items() for word in ("--label", f"hvdocker.{name}={value}")]
    how = ["--user", "1000:1000", "--network", "host", "--init", "--entrypoint", "sleep"]
    head.docker("run", "--detach", "--name", MASTER, *how, *words, SMALL_IMAGE, "infinity")
    put = f"mkdir -p {SSH_FOLDER} $(dirname {SECRET}) && printf 's3c r3t' > {SECRET}"
    head.docker("exec", "--user", "0", MASTER, "sh", "-c", put)


@pytest.fixture(scope="module")
def hosts(lab: Lab) -> list[LabHost]:
    return lab.fresh(3)


@pytest.fixture(scope="module")
def shared(lab: Lab, desk: Cli, hosts: list[LabHost]) -> Iterator[LabCluster]:
    """Two hosts on which a job runs, and a third one that joins it."""
    pair = LabCluster.write(lab, desk, hosts[:2])
    pair.up()
    start_master(pair, hosts[0])
    site = LabCluster.write(lab, desk, hosts)
    site.up()
    yield site
    site.down("--discard")
    assert cluster_leftovers(hosts, "lab") == {}


@pytest.fixture
def site(lab: Lab, desk: Cli, shared: LabCluster) -> LabCluster:
    """Whole again, whatever the test before did to it."""
    site = LabCluster.write(lab, desk, shared.hosts)
    site.up()
    return site


def in_master(site: LabCluster, path: str) -> str:
    return site.hosts[0].docker("exec", MASTER, "cat", path)


def job_hosts_of(site: LabCluster) -> dict[str, Any]:
    told = json.loads(in_master(site, "/run/hvdocker/hosts.json"))
    return {host["name"]: (host["address"], host["slots"]) for host in told["hosts"]}


def known(site: LabCluster) -> str:
    """known_hosts as it should be: every worker's key is on its label."""
    keys = {host.address: site.inspect_worker(host)["Config"]["Labels"]["hvdocker.hostkey"] for host in site.hosts}
    return "".join(f"[{address}]:12345 {key}\n" for address, key in keys.items())


def test_a_new_host_has_all_that_the_job_needs_there(site: LabCluster) -> None:
    third = site.hosts[2]
    labels = site.inspect_worker(third)["Config"]["Labels"]
    assert (labels["hvdocker.joined"], labels["hvdocker.share"]) == (JOB, "1")
    told = json.loads(third.exec(f"cat {site.folder_on(third)}/jobs/{JOB}/job.json"))
    assert told["host"] == third.name and told["env"] == {"X": "a b"}
    assert [host["name"] for host in told["hosts"]] == [host.name for host in site.hosts]
    assert site.exec_in_worker(third, "cat", "/train/train.py", SECRET)[1] == "print(1)\ns3c r3t"
    assert site.exec_in_worker(third, "stat", "-c", "%a %u:%g", SECRET)[1] == "400 1000:1000\n"
    assert third.exec(f"grep -rl 's3c r3t' {site.folder_on(third)} || true") == ""


def test_the_master_knows_its_hosts_and_their_keys(site: LabCluster) -> None:
    assert job_hosts_of(site) == {host.name: (host.address, 1) for host in site.hosts}
    assert in_master(site, f"{SSH_FOLDER}/known_hosts") == known(site)
    assert all(host.address in in_master(site, f"{SSH_FOLDER}/config") for host in site.hosts)


def test_its_slots_are_the_jobs_and_a_second_up_has_nothing_to_do(site: LabCluster) -> None:
    assert site.up().out == "nothing to do: lab is up on 3 hosts\n"
    (job,) = site.status()["jobs"]
    assert job["placement"] == {host.name: 1 for host in site.hosts}
    (site.folder / "code").mkdir(exist_ok=True)
    (site.folder / "code" / "train.py").touch()
    refused = site.run("train", "code/train.py", "-np", "1", "--dry-run", check=6)
    assert f"1 held by {JOB} of ada" in refused.err


@pytest.mark.parametrize("victim", [1, 2], ids=["one of the first", "one that joined"])
def test_a_host_that_lost_its_worker_comes_back(site: LabCluster, victim: int) -> None:
    gone = site.hosts[victim]
    gone.docker("rm", "-f", site.worker)
    gone.exec(f"rm -rf {site.folder_on(gone)}")
    site.up()
    assert job_hosts_of(site) == {host.name: (host.address, 1) for host in site.hosts}
    assert in_master(site, f"{SSH_FOLDER}/known_hosts") == known(site)
    assert site.exec_in_worker(gone, "cat", "/train/train.py", SECRET)[1] == "print(1)\ns3c r3t"
    told = json.loads(gone.exec(f"cat {site.folder_on(gone)}/jobs/{JOB}/job.json"))
    assert [host["name"] for host in told["hosts"]].count(gone.name) == 1
    assert site.up().out.startswith("nothing to do")


def test_a_worker_that_was_never_started_joins_when_up_runs_again(site: LabCluster) -> None:
    """As an `up` leaves it that was killed in between."""
    third = site.hosts[2]
    words = ["--label", "hvdocker.cluster=lab", "--label", f"hvdocker.host={third.name}"]
    words += ["--label", "hvdocker.role=worker", "--label", f"hvdocker.joined={JOB}"]
    third.docker("rm", "-f", site.worker)
    third.docker("create", "--name", site.worker, *words, SMALL_IMAGE)
    site.up()
    assert site.inspect_worker(third)["State"]["Running"] is True
    assert job_hosts_of(site)[third.name] == (third.address, 1)


@pytest.mark.parametrize("leaver", [1, 2], ids=["one of the first", "one that joined"])
def test_a_host_that_leaves_the_inventory_is_trusted_no_more(
    lab: Lab, desk: Cli, site: LabCluster, leaver: int
) -> None:
    gone = site.hosts[leaver]
    rest = LabCluster.write(lab, desk, [host for host in site.hosts if host != gone])
    told = rest.up()
    assert f"{gone.name} is in the cluster no more" in told.err and "docker rm -f" in told.err
    assert job_hosts_of(rest) == {host.name: (host.address, 1) for host in rest.hosts}
    assert in_master(rest, f"{SSH_FOLDER}/known_hosts") == known(rest)
    for host in rest.hosts:
        assert gone.address not in rest.exec_in_worker(host, "cat", f"{SSH_FOLDER}/authorized_keys")[1]
    assert "Permission denied" in site.logins()[(gone.name, rest.hosts[0].name)]
    assert rest.logins() == rest.full_mesh()
    assert rest.up().out == "nothing to do: lab is up on 2 hosts\n"


def test_down_ends_the_job_and_brings_home_what_the_new_host_made(site: LabCluster) -> None:
    third = site.hosts[2]
    third.exec(f"echo of {third.name} > {site.folder_on(third)}/jobs/{JOB}/out/x.txt", user="trainer")
    site.down()
    assert cluster_leftovers(site.hosts, "lab") == {}
    home = site.folder / ".hvdocker" / "jobs" / JOB
    assert [path.read_text() for path in home.rglob("x.txt")] == [f"of {third.name}\n"]
