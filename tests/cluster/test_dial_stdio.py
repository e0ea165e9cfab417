"""Hosts whose engine's socket SSH cannot reach: there the docker CLI carries the engine's API."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.sshd import forwarding_denied

NOTES = "/run/lab-docker"
# In front of the real CLI, for sudo too: writes down how it is called, and by whom.
NOTING = f"""#!/bin/sh
echo "$(id -un) $*" >> {NOTES}
exec /usr/bin/docker "$@"
"""
PLACE = "/usr/local/bin/docker"


@contextmanager
def notes_taken(hosts: list[LabHost]) -> Iterator[None]:
    for host in hosts:
        host.exec(f": > {NOTES} && chmod 666 {NOTES}")
        host.exec(["sh", "-c", f'printf "%s" "$1" > {PLACE} && chmod 755 {PLACE}', "sh", NOTING])
    try:
        yield
    finally:
        for host in hosts:
            host.exec(f"rm -f {PLACE} {NOTES}")


def dialers(site: LabCluster, act: Callable[[], object]) -> dict[str, set[str]]:
    """Per host, who dialed the engine through the CLI meanwhile."""
    for host in site.hosts:
        host.exec(f": > {NOTES}")
    act()
    calls = {host.name: host.exec(f"cat {NOTES}").splitlines() for host in site.hosts}
    return {
        name: {line.split(" ")[0] for line in lines if line.endswith(" system dial-stdio")}
        for name, lines in calls.items()
    }


def train_small_job(site: LabCluster) -> None:
    """The code goes to every host, and the job's master is made, heard and waited for. The small image runs plain
    processes."""
    (site.folder / "x").write_text("synced")
    assert site.run("train", "--", "cat", "/train/x").out.count("synced") == len(site.hosts)
    assert [site.exec_in_worker(host, "cat", "/train/x")[1] for host in site.hosts] == ["synced"] * len(site.hosts)


def use(site: LabCluster, expected: dict[str, set[str]]) -> None:
    assert dialers(site, site.up) == expected
    assert "nothing to do" in site.up().out
    assert dialers(site, lambda: train_small_job(site)) == expected
    assert dialers(site, site.down) == expected
    assert cluster_leftovers(site.hosts, site.cluster) == {}


@pytest.mark.parametrize("rule", ["AllowStreamLocalForwarding no", "DisableForwarding yes"])
def test_an_sshd_that_denies_forwarding(lab: Lab, cli: Cli, rule: str) -> None:
    """To sockets, on the host where the job's master runs. To ports too: then the worker itself tells whether
    its sshd answers."""
    closed, plain = hosts = lab.fresh(2)
    with notes_taken(hosts), forwarding_denied(closed, rule):
        use(LabCluster.write(lab, cli, hosts), {closed.name: {"trainer"}, plain.name: set()})


def test_a_user_who_has_sudo_only(lab: Lab, cli: Cli) -> None:
    hosts = lab.fresh(2)
    with notes_taken(hosts):
        use(LabCluster.write(lab, cli, hosts, user="sudoer"), {host.name: {"root"} for host in hosts})
