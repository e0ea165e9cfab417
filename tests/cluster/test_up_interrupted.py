"""`up` that is interrupted or fails leaves nothing, unless a flag says so; keys provided by the user."""

import signal
import subprocess

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers, untouched
from tests.cluster.lab import Lab
from tests.cluster.lab_cluster import SMALL_IMAGE, SSH_FOLDER, LabCluster


def interrupt_at(cli: Cli, site: LabCluster, moment: str) -> None:
    """Ctrl-C as soon as the progress says so."""
    process = cli.start("up", site.inventory)
    assert process.stderr is not None
    while moment not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err


def test_ctrl_c_in_the_middle_of_up_leaves_nothing(lab: Lab, cli: Cli) -> None:
    """Interrupted while images are loaded: the longest part."""
    hosts = lab.fresh(2)
    for host in hosts:
        host.attempt(["docker", "rmi", "-f", SMALL_IMAGE])
    site = LabCluster.write(lab, cli, hosts)
    with untouched(*hosts):
        interrupt_at(cli, site, "load ")
    site.up()
    site.down()


def test_ctrl_c_after_workers_were_made_removes_them(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    for host in hosts:
        if not host.has_image(SMALL_IMAGE):
            host.load(SMALL_IMAGE)
    site = LabCluster.write(lab, cli, hosts)
    with untouched(*hosts):
        interrupt_at(cli, site, "wait for sshd")


def test_a_failed_up_that_keeps_what_it_made_is_cleaned_by_down(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, cli, hosts)
    hosts[1].exec(f"iptables -w -I INPUT -p tcp -s {hosts[0].address} --dport 12345 -j REJECT")
    failed = cli.run("up", site.inventory, "--keep", "failed", cwd=site.folder, check=3)
    hosts[1].repair()
    assert "h1 cannot log in to every worker" in failed.err
    assert set(cluster_leftovers(hosts, "lab")) == {"h1", "h2"}
    site.run("down")
    assert cluster_leftovers(hosts, "lab") == {}


def test_a_key_pair_that_the_user_brings(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    site = LabCluster.write(lab, cli, hosts, keys={"private": "mine", "public": "mine.pub"})
    key = site.folder / "mine"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)], check=True)
    site.up()
    assert site.logins() == site.full_mesh()
    _, inside, _ = site.exec_in_worker(hosts[0], "cat", f"{SSH_FOLDER}/authorized_keys")
    assert key.with_suffix(".pub").read_text().split()[1] in inside
    assert "nothing to do" in site.up().out
    site.down()
    key.unlink()
    assert "mine is not there" in cli.run("up", site.inventory, cwd=site.folder, check=2).err
