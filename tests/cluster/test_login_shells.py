"""Users with zsh, fish, tcsh and bash whose start files talk: a whole day of work, and no output is lost.

The lab's hosts are such machines: their start files print, and another docker context is current, which leads
nowhere. With `dial-stdio` their sshd denies forwarding too, so that even the engine's API passes through the login
shell."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.sshd import forwarding_denied

SHELLS = ["zsh", "fish", "tcsh", "bash"]


@pytest.mark.parametrize("way", ["forwarded", "dial-stdio"])
@pytest.mark.parametrize("user", ["trainer", "sudoer"])
def test_nothing_is_lost_through_any_login_shell(lab: Lab, cli: Cli, user: str, way: str) -> None:
    hosts = lab.fresh(len(SHELLS))
    assert [login_shell(host, user) for host in hosts] == SHELLS
    with ExitStack() as stack:
        for host in hosts if way == "dial-stdio" else ():
            stack.enter_context(forwarding_denied(host))
        site = LabCluster.write(lab, cli, hosts, user=user)
        site.up()
        assert "nothing to do" in site.up().out
        # The worker is on this host's own engine, and not on the one of the current context.
        assert sorted(site.worker_ids()) == sorted(host.name for host in hosts)
        job = short_job(site)
        for host in hosts:
            write_output(host, user, job)
        home = Path(site.run("fetch", job).out.strip())
        found = {path.name: path.read_bytes() for path in (home / "out").iterdir()}
        assert found == {f"model-{host.name}.h5": output_of(host) for host in hosts}
        assert site.run("exec", "--", "cat", "/train/x").out.count("synced") == len(hosts)
        site.down()
    assert cluster_leftovers(hosts, site.cluster) == {}


def login_shell(host: LabHost, user: str) -> str:
    return host.exec(["getent", "passwd", user]).strip().rpartition("/")[2]


def short_job(site: LabCluster) -> str:
    """Send the code to all hosts and run a job that ends at once; return its name."""
    (site.folder / "x").write_text("synced\n")
    result = site.run("train", "-np", str(len(site.hosts)), "--", "cat", "/train/x")
    assert result.out.count("synced") == len(site.hosts)
    (job,) = json.loads(site.run("jobs", "--json").out)["jobs"]
    return str(job["job"])


def output_of(host: LabHost) -> bytes:
    return f"weights of {host.name}\n".encode() * 1000


def write_output(host: LabHost, user: str, job: str) -> None:
    """Write what a rank of the job would have saved on this host."""
    folder = f"/home/{user}/.hvdocker/lab/{host.name}/jobs/{job}/out"
    line = output_of(host).decode().splitlines()[0]
    host.exec(
        ["sh", "-c", 'mkdir -p "$1" && yes "$2" | head -n 1000 > "$1/$3"', "sh", folder, line, f"model-{host.name}.h5"],
        user=user,
    )
