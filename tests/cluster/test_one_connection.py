"""One SSH connection per host and command, whatever the command does but a large upload: sshd's own log counts."""

from pathlib import Path

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster


def logins(host: LabHost) -> int:
    """As the host's sshd has counted them since the host was made; workers log elsewhere."""
    return bytes(host.engine.logs(host.container)).count(b"Accepted publickey for ")


def logins_during(site: LabCluster, *words: str | Path, check: int = 0) -> dict[str, int]:
    before = {host.name: logins(host) for host in site.hosts}
    site.run(*words, check=check)
    for host in site.hosts:  # a log has its own pace
        until(lambda h=host: logins(h) > before[h.name] or None, f"{host.name} tells of a login", 10)
    return {host.name: logins(host) - before[host.name] for host in site.hosts}


def test_a_command_logs_in_once_per_host(lab: Lab, cli: Cli) -> None:
    """Train with the small image: code is synced, and a job made, heard and ended."""
    site = LabCluster.write(lab, cli, lab.fresh(2))
    for host in site.hosts:
        host.load(SMALL_IMAGE)  # sending it would be a large upload
    (site.folder / "train.py").write_text("")
    once = {host.name: 1 for host in site.hosts}
    assert logins_during(site, "up", site.inventory) == once
    assert logins_during(site, "train", "train.py") == once
    assert logins_during(site, "status") == once
    assert logins_during(site, "down", "-y") == once
    assert cluster_leftovers(site.hosts, site.cluster) == {}
