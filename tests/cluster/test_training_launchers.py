"""PyTorch and independent processes on two hosts with uneven shares: two slots on h1, one on h2."""

import json
import re
from collections.abc import Iterator

import pytest

from hvdocker.protocol.job_file import MASTER_PORT
from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import untouched
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import CASES, SMALL_IMAGE, TORCH_IMAGE
from tests.cluster.rank_checks import assert_ranks
from tests.cluster.training import (
    DEADLINE_S,
    await_no_ranks,
    await_ranks,
    open_gate,
    rank_reports,
    train_detached,
    training_cluster,
    wait_for_exit,
    workers_run,
)

pytestmark = pytest.mark.training

SLOTS = {"h1": 2, "h2": 1}
BOTH = [(), ("--launcher", "torchrun")]
FILLED = ("{rank}", "{size}", "{host}", "{local_rank}")


@pytest.fixture(scope="module")
def site(lab: Lab, desk: Cli) -> Iterator[LabCluster]:
    """The inventory names another image: the one of `up --image` holds, and all tests find it by the workers."""
    settings = {"image": SMALL_IMAGE, "host_slots": SLOTS}
    with training_cluster(lab, desk, launcher=CASES["torch"], asked=("--image", "torch-cpu"), **settings) as found:
        yield found


@pytest.fixture
def shares(site: LabCluster) -> list[LabHost]:
    """The host of each of three ranks. The head is the host with the smallest share."""
    by_share = sorted(site.hosts, key=lambda host: SLOTS[host.name])
    return [host for host in by_share for _ in range(SLOTS[host.name])]


# PyTorch


@pytest.mark.parametrize("flags", BOTH, ids=["torch", "torchrun"])
def test_uneven_shares_end_with_one_set_of_weights(
    site: LabCluster, shares: list[LabHost], flags: tuple[str, ...]
) -> None:
    result = site.run("train", "code/weights_torch.py", *flags)
    ranks = rank_reports(result.out)
    assert_ranks(ranks, shares, hashes=1)
    assert all(rank["losses"][-1] < rank["losses"][0] / 2 for rank in ranks)
    assert [rank["interface"] for rank in ranks] == [_interface(host) for host in shares]
    await_no_ranks(site)


def _interface(host: LabHost) -> str:
    """The name of the interface that has the host's address."""
    found = re.search(rf"^\d+: (\S+) .*\b{re.escape(host.address)}/", host.exec("ip -o -4 addr"), re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("flags", BOTH, ids=["torch", "torchrun"])
def test_without_the_exchange_of_gradients_the_weights_differ(
    site: LabCluster, shares: list[LabHost], flags: tuple[str, ...]
) -> None:
    alone = site.run("train", "code/weights_torch.py", *flags, "--", "--alone")
    assert_ranks(rank_reports(alone.out), shares, hashes=3)


def test_a_port_that_is_taken_on_one_host_is_not_the_jobs(site: LabCluster) -> None:
    """The head gets the port, but all hosts of the job are looked at."""
    taken, other = MASTER_PORT, site.hosts[0]
    pid_file = "/run/lab-takes-port.pid"
    other.spawn(["/usr/sbin/sshd", "-D", "-p", str(taken), "-o", f"PidFile={pid_file}"])
    until(lambda: other.exec(["ss", "-Htln", f"sport = :{taken}"]) or None, f"{taken} is taken", DEADLINE_S)
    try:
        ranks = rank_reports(site.run("train", "code/weights_torch.py").out)
    finally:
        other.exec(f"kill $(cat {pid_file})")
    ports = {rank["variables"]["MASTER_PORT"] for rank in ranks}
    assert len(ranks) == 3 and len(ports) == 1 and int(ports.pop()) > taken


def test_a_model_is_sharded_over_two_hosts(site: LabCluster) -> None:
    """FSDP with Gloo: no rank holds all weights, and all compute with the same ones."""
    ranks = rank_reports(site.run("train", "code/weights_torch.py", "-H", "h1:1,h2:1", "--", "--fsdp").out)
    assert_ranks(ranks, site.hosts, hashes=1)
    assert sum(rank["held"] for rank in ranks) == ranks[0]["whole"]
    assert all(0 < rank["held"] < rank["whole"] for rank in ranks)
    assert all(rank["losses"][-1] < rank["losses"][0] / 2 for rank in ranks)


@pytest.mark.parametrize(
    ("flags", "name", "reason"),
    [((), "torch", "the image's label"), (("--launcher", "torchrun"), "torchrun", "--launcher")],
    ids=["torch", "torchrun"],
)
def test_plan_and_record_say_which_launcher_and_why(
    site: LabCluster, flags: tuple[str, ...], name: str, reason: str
) -> None:
    assert f"{name} ({reason})" in site.run("train", *flags, "--dry-run", "--", "true").out
    job = train_detached(site, *flags, "--", "true")
    site.run("attach", job)
    (head,) = {host for host in site.hosts if SLOTS[host.name] == min(SLOTS.values())}
    record = json.loads(head.exec(f"cat {site.folder_on(head)}/jobs/{job}/logs/record.json"))
    assert (record["launcher"], record["launcher_reason"]) == (name, reason)


# Independent processes


def test_more_processes_than_slots_take_turns(site: LabCluster, shares: list[LabHost]) -> None:
    """Each slot has one at a time, and each process has its numbers in its arguments and variables."""
    result = site.run("train", "code/each.py", "--launcher", "each", "-np", "6", "--", *FILLED)
    ranks = rank_reports(result.out)
    assert [(rank["rank"], rank["size"]) for rank in ranks] == [(number, 6) for number in range(6)]
    assert {rank["address"] for rank in ranks} == {host.address for host in site.hosts}
    for rank in ranks:
        variables = rank["variables"]
        told = [variables[f"HVDOCKER_{name}"] for name in ("RANK", "SIZE", "HOST", "LOCAL_RANK")]
        assert rank["arguments"] == told
        assert int(variables["LOCAL_RANK"]) < int(variables["LOCAL_WORLD_SIZE"]) == SLOTS[variables["HVDOCKER_HOST"]]
        # All clocks are this machine's, since the hosts are containers.
        alike = [other for other in ranks if other is not rank and _slot(other) == _slot(rank)]
        assert all(other["ended"] <= rank["began"] or rank["ended"] <= other["began"] for other in alike)
    assert {_slot(rank) for rank in ranks[:3]} == {("h1", "0"), ("h1", "1"), ("h2", "0")}
    await_no_ranks(site)


def _slot(rank: dict[str, dict[str, str]]) -> tuple[str, str]:
    return rank["variables"]["HVDOCKER_HOST"], rank["variables"]["LOCAL_RANK"]


def test_one_that_fails_does_not_end_the_others(site: LabCluster) -> None:
    words = ("train", "code/each.py", "--launcher", "each", "-np", "6", "--", *FILLED, "--fail", "1")
    result = site.run(*words, check=100)
    assert [rank["rank"] for rank in rank_reports(result.out)] == [0, 2, 3, 4, 5]
    assert re.search(r"error: h\d: rank 1 failed with exit code 5", result.err)
    assert "the other ranks were ended" not in result.err
    listed = re.findall(r"^ *(\d) +h\d +(\d) ", result.err, re.MULTILINE)
    assert listed == [(str(rank), "5" if rank == 1 else "0") for rank in range(6)]
    assert "6 ranks on 2 hosts" in result.err
    await_no_ranks(site)


def test_one_that_fails_ends_all_if_told_so(site: LabCluster) -> None:
    words = ("--launcher", "each", "--fail-fast", "--", *FILLED, "--fail", "2", "--wait", "never")
    result = site.run("train", "code/each.py", *words, check=100)
    assert rank_reports(result.out) == []
    assert "h1: rank 2 failed with exit code 5" in result.err and "the other ranks were ended" in result.err
    await_no_ranks(site)
    assert workers_run(site)


def test_a_stop_ends_those_that_run_and_those_that_wait(site: LabCluster) -> None:
    words = ("code/each.py", "--launcher", "each", "-np", "6", "--", *FILLED, "--wait", "stopped")
    job = train_detached(site, *words)
    await_ranks(site, "each.py")
    follower = site.cli.start("attach", job, cwd=site.folder)
    site.run("stop", job)
    code, out, _ = wait_for_exit(follower)
    assert code == 103 and rank_reports(out) == []
    await_no_ranks(site)
    open_gate(site, "stopped")


# Images that do not fit


def test_a_launcher_that_the_image_lacks_is_refused_before_anything_is_sent(site: LabCluster) -> None:
    with untouched(*site.hosts):
        result = site.run("train", "code/gate.py", "--launcher", "horovod", check=1)
    assert f"the launcher horovod needs horovod, which the image {TORCH_IMAGE} does not have" in result.err
    assert "hvdocker up --image tensorflow-cpu" in result.err


def test_a_script_whose_framework_the_image_lacks_is_refused_before_anything_is_sent(site: LabCluster) -> None:
    (site.folder / "code" / "indirect.py").write_text("import weights_tensorflow\n")
    with untouched(*site.hosts):
        result = site.run("train", "code/indirect.py", check=1)
    assert f"weights_tensorflow.py imports tensorflow, which the image {TORCH_IMAGE} does not have" in result.err
    assert "hvdocker up --image tensorflow-cpu" in result.err and "--force" in result.err
    forced = site.run("train", "code/indirect.py", "--force", check=100)
    assert "No module named 'tensorflow'" in forced.err
    await_no_ranks(site)
