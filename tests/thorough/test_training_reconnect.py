"""A `train` that loses the connection to its job: a link that comes back, and a head that does not."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from hvdocker.jobs.log.reconnect import RECONNECT_TIMEOUT_S
from hvdocker.transport.ssh.keepalive import KeepaliveTimes
from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.training import DATA, DEADLINE_S, await_no_ranks, await_ranks, training_cluster

pytestmark = pytest.mark.training

# Of the controller's links alone: the job's own go through another port.
CUT = "iptables -w -I INPUT -p tcp --dport 22 -j DROP; iptables -w -I OUTPUT -p tcp --sport 22 -j DROP"
LOST_S = KeepaliveTimes().longest_s + RECONNECT_TIMEOUT_S + DEADLINE_S


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    with training_cluster(lab, desk, count=3) as found:
        yield found


def start(site: LabCluster, gate: str, *flags: str) -> "subprocess.Popen[str]":
    """A watching `train` whose ranks count on all hosts, until a gate is opened."""
    process = site.cli.start("train", *flags, "code/count.py", "--", gate, cwd=site.folder)
    await_ranks(site, f"count.py {gate}")
    for host in site.hosts:
        newest = f"cd {site.folder_on(host)}/jobs && cd $(ls -t | head -n 1)/logs"
        count = partial(host.attempt, f"{newest} && grep -q 'number 0' rank-*.log")
        until(lambda count=count: count()[0] == 0 or None, f"the rank on {host.name} counts", DEADLINE_S)
    return process


def open_gate(hosts: list[LabHost], name: str) -> None:
    for host in hosts:
        host.exec(["touch", f"{DATA}/{name}"])


def read_until(process: "subprocess.Popen[str]", word: str) -> str:
    """What it says on stderr, up to that word."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if word in line:
            return said
    raise AssertionError(said)


def end_of(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=LOST_S)
    print(out, err, sep="\n--- stderr\n")
    return process.returncode, out, err


@contextmanager
def powered_off(site: LabCluster, host: LabHost) -> Iterator[None]:
    host.kill()
    try:
        yield
    finally:
        host.start()
        site.run("up", site.inventory)


def numbers(out: str, rank: int) -> list[int]:
    return [int(found) for found in re.findall(rf"^{rank}@h\d +│ number (\d+)$", out, re.MULTILINE)]


def test_a_laptop_that_was_offline_sees_every_line_once(site: LabCluster) -> None:
    process = start(site, "back")
    for host in site.hosts:
        host.exec(CUT)
    try:
        said = read_until(process, "the link to h1 broke")
        assert "the job goes on" in said
    finally:
        for host in site.hosts:
            host.repair()
    read_until(process, "the link to h1 is back")
    open_gate(site.hosts, "back")
    code, out, _ = end_of(process)
    assert code == 0
    for rank in range(3):
        found = numbers(out, rank)
        assert found == list(range(len(found))) and found
        assert out.count(f"{rank}@h{rank + 1} │ the end") == 1
    await_no_ranks(site)


def test_the_heads_own_death_is_named_and_the_next_job_runs(site: LabCluster) -> None:
    process = start(site, "never")
    with powered_off(site, site.hosts[0]):
        code, _, err = end_of(process)
        assert code == 4
        assert "error: the head h1 does not answer: the job ended with it" in err
        assert "hvdocker up" in err and "--restarts" in err
        assert "last words of rank 1 on h2:" in err and "last words of rank 2 on h3:" in err
        job = re.findall(r"count-\w{4}", err)[0]
        home = site.folder / ".hvdocker" / "jobs" / job / "logs"
        assert "number 0" in (home / "rank-1.log").read_text()
    await_no_ranks(site)
    assert site.run("train", "-np", "3", "code/report_environment.py").out.count("told") == 3


def test_a_job_with_restarts_goes_on_without_its_head(site: LabCluster) -> None:
    h1, *others = site.hosts
    process = start(site, "later", "--restarts", "1")
    with powered_off(site, h1):
        said = read_until(process, "is started again")
        assert "the head h1 does not answer" in said and "(restart 1 of 1)" in said
        open_gate(others, "later")
        code, out, err = end_of(process)
        assert code == 0, err
        assert "0@h1 │ this is start 0" in out and "0@h2 │ this is start 1" in out
        assert "0@h2 │ the end" in out and "1@h3 │ the end" in out
        assert "2 ranks on 2 hosts" in err and "1 restart" in err
    (job,) = {job["job"] for job in site.status()["jobs"] if job["job"] in said + err}
    assert "the end" in site.run("logs", job).out
    await_no_ranks(site)
