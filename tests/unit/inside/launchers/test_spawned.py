"""The launchers that the spawner serves: command lines and variables, compared whole."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from inside.launchers import NAMES, named
from inside.launchers.each import Each
from inside.launchers.jax import Jax
from inside.launchers.launcher import LauncherRun, RankIdentity
from inside.launchers.mpi import Mpi, MpiFailure, common_network
from inside.launchers.spawned import RANK_FAILED, ProcessStart, Slot, SpawnedFailure, host_word, parse_host_word
from inside.launchers.tensorflow import TensorFlow
from inside.launchers.torch import Torch
from inside.launchers.torchrun import Torchrun, limited_hosts, node_bounds
from inside.runtime.layout import Layout

from hvdocker.launchers import LAUNCHERS
from hvdocker.protocol.job_file import Job, JobHost, JobLauncher
from hvdocker.protocol.resilience import Elastic, Resilience

HOSTS = (JobHost("a", "198.18.0.11", 2), JobHost("b", "198.18.0.12", 1))
JOB = Job("j", "c", "a", HOSTS, ("python", "train.py"), "/train", JobLauncher("torch"), np=3, master_port=29500)
LAYOUT = Layout(Path("/run/hvdocker"), Path("/opt/hvdocker/bin"))
RUN = LauncherRun(JOB, HOSTS, LAYOUT, "eth0", restart=1)
LAST = Slot("b", 1, 0, 1)
RANK = ("/opt/hvdocker/bin/rank", "j")
NUMBERS = {"RANK": "2", "WORLD_SIZE": "3", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "1"}


def run_of(**options: object) -> LauncherRun:
    return replace(RUN, job=replace(JOB, launcher=JobLauncher("any", options)))


def elastic(min_np: int, max_np: int | None, hosts: tuple[JobHost, ...] = HOSTS) -> Job:
    return replace(JOB, hosts=hosts, resilience=Resilience(elastic=Elastic(min_np, max_np)))


@pytest.mark.parametrize("name", NAMES)
def test_every_launcher_has_its_name(name: str) -> None:
    assert named(name).name == name


def test_every_launcher_of_the_controller_has_its_counterpart_here() -> None:
    assert set(NAMES) == {launcher.name for launcher in LAUNCHERS}


def test_the_spawner_gets_the_hosts_of_the_run() -> None:
    words = ["/opt/hvdocker/bin/spawn", "j", "a=198.18.0.11=2", "b=198.18.0.12=1"]
    assert Torch().command(RUN) == words


@pytest.mark.parametrize("host", [HOSTS[0], JobHost("gpu-1.site", "fd00::7", 8)])
def test_a_host_is_read_from_its_word(host: JobHost) -> None:
    assert parse_host_word(host_word(host)) == host


def test_a_rank_of_torch_gets_its_numbers() -> None:
    assert Torch().process(RUN, 2, LAST) == ProcessStart(2, RANK, NUMBERS, 2)


@pytest.mark.parametrize(("local_size", "threads"), [(2, {"OMP_NUM_THREADS": "1"}), (1, {})])
def test_torch_gets_the_interface_and_few_threads_where_ranks_share_a_host(
    local_size: int, threads: dict[str, str]
) -> None:
    wanted = {"TORCHELASTIC_RUN_ID": "j", "GLOO_SOCKET_IFNAME": "eth0", "NCCL_SOCKET_IFNAME": "=eth0"}
    assert Torch().rank_env(RankIdentity(0, 3, 0, local_size, 0), JOB, "eth0") == {**wanted, **threads}


@pytest.mark.parametrize(
    "line",
    [
        "[rank2]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, remote process exited",
        "torch.distributed.DistNetworkError: The client socket has failed to connect",
        "[W ProcessGroupGloo.cpp] timed out",
        "[W1118 TCPStore.cpp:125] recvValue failed on SocketImpl(fd=3): Connection reset by peer",
    ],
)
def test_errors_of_peers_are_consequences_for_torch(line: str) -> None:
    assert Torch().is_consequence(line)
    assert not Torch().is_consequence("RuntimeError: on purpose")


def test_torchrun_has_a_static_rendezvous_with_the_head_as_node_0() -> None:
    words = [
        *("torchrun", "--nnodes", "2", "--node-rank", "1", "--nproc-per-node", "1"),
        *("--master-addr", "198.18.0.11", "--master-port", "29500", "--local-addr", "198.18.0.12"),
        *("--max-restarts", "0", "--tee", "3", "--no-python", *RANK),
    ]
    assert Torchrun().process(run_of(flags=["--tee", "3"]), 1, LAST) == ProcessStart(1, words, {})


def test_torchrun_with_restarts_on_several_hosts_has_a_dynamic_rendezvous() -> None:
    conf = "last_call_timeout=5,keep_alive_interval=2,keep_alive_max_attempt=3,join_timeout=600,is_host=true"
    words = [
        *("torchrun", "--nnodes", "2", "--nproc-per-node", "2", "--max-restarts", "3"),
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", "198.18.0.11:29500", "--rdzv-id", "j-1", "--rdzv-conf", conf),
        *("--local-addr", "198.18.0.11", "--no-python", *RANK),
    ]
    found = Torchrun().process(run_of(max_restarts=3), 0, Slot("a", 0, 0, 1))
    env = {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    assert found == ProcessStart(0, words, env)


def test_settings_of_the_users_rendezvous_are_added_to_ours() -> None:
    flags = ["--rdzv-conf", "join_timeout=30", "--monitor-interval", "1"]
    words = Torchrun().process(run_of(max_restarts=3, flags=flags), 0, Slot("a", 0, 0, 1)).argv
    conf = words[words.index("--rdzv-conf") + 1]
    assert words.count("--rdzv-conf") == 1 and "is_host=true" in conf and conf.endswith(",join_timeout=30")
    assert words[words.index("--monitor-interval") + 1] == "1" and words.count("join_timeout=30") == 0


def test_an_elastic_job_has_the_elastic_torchrun() -> None:
    launcher = Torchrun().for_job(elastic(1, 3))
    assert isinstance(launcher, Torchrun) and launcher.restarts_ranks
    words = launcher.process(replace(RUN, job=elastic(1, 3)), 1, LAST).argv
    assert words[1:3] == ["--nnodes", "1:2"]


@pytest.mark.parametrize(
    ("min_np", "max_np", "wanted"), [(1, 3, (1, 2)), (2, 3, (1, 2)), (3, 3, (2, 2)), (3, 5, (2, 4))]
)
def test_torchrun_counts_hosts(min_np: int, max_np: int, wanted: tuple[int, int]) -> None:
    assert node_bounds(elastic(min_np, max_np)) == wanted


@pytest.mark.parametrize(
    ("min_np", "max_np", "shares"),
    [(1, None, [2, 1]), (1, 3, [2, 1]), (1, 2, [2]), (3, None, [2, 1]), (4, None, []), (1, 1, [1])],
)
def test_an_elastic_job_stays_within_its_bounds(min_np: int, max_np: int | None, shares: list[int]) -> None:
    assert [host.slots for host in limited_hosts(elastic(min_np, max_np), HOSTS)] == shares


def test_a_rank_of_torchrun_keeps_the_address_that_torchrun_chose() -> None:
    chosen = {"MASTER_ADDR": "198.18.0.12", "MASTER_PORT": "41234"}
    assert Torchrun().master_env({**chosen, "RANK": "0"}) == chosen
    assert Torch().master_env(chosen) == {}


def test_tensorflow_gets_all_workers() -> None:
    process = TensorFlow().process(RUN, 2, LAST)
    assert json.loads(process.env["TF_CONFIG"]) == {
        "cluster": {"worker": ["198.18.0.11:29501", "198.18.0.11:29502", "198.18.0.12:29501"]},
        "task": {"type": "worker", "index": 2},
    }
    assert {name: process.env[name] for name in NUMBERS} == NUMBERS


def test_jax_gets_the_coordinator_and_the_numbers_it_looks_for() -> None:
    assert Jax().process(RUN, 2, LAST).env == {
        **NUMBERS,
        "HVDOCKER_FAIL_FAST": "1",
        "JAX_COORDINATOR_ADDRESS": "198.18.0.11:29500",
        "JAX_NUM_PROCESSES": "3",
        "JAX_PROCESS_ID": "2",
        "OMPI_MCA_orte_hnp_uri": "hvdocker",
        "OMPI_COMM_WORLD_SIZE": "3",
        "OMPI_COMM_WORLD_RANK": "2",
        "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    }


def test_mpirun_starts_rank_wrappers_on_all_hosts() -> None:
    process = Mpi().process(run_of(flags=["--mca", "pml", "ob1"]), 0, Slot("a", 0, 0, 1))
    assert list(process.argv) == [
        *("mpirun", "-np", "3", "--host", "198.18.0.11:2,198.18.0.12:1", "--map-by", "slot", "--bind-to", "none"),
        *("-x", "HVDOCKER_OUTPUT_SOCKET", "-x", "HVDOCKER_RESTART", "--mca", "pml", "ob1", *RANK),
    ]
    assert process.env["OMPI_MCA_oob_tcp_if_include"] == process.env["PRTE_MCA_prte_if_include"] == "198.18.0.8/29"


def test_mpirun_gets_one_binding() -> None:
    words = list(Mpi().process(run_of(flags=["--bind-to", "core"]), 0, Slot("a", 0, 0, 1)).argv)
    assert words.count("--bind-to") == 1 and words[words.index("--bind-to") + 1] == "core"


@pytest.mark.parametrize(
    ("addresses", "wanted"),
    [
        (["198.18.0.11"], "198.18.0.11/32"),
        (["198.18.0.11", "198.18.0.12"], "198.18.0.8/29"),
        (["10.0.0.1", "10.0.1.1"], "10.0.0.0/23"),
        (["fd00::1", "fd00::2"], "fd00::/126"),
    ],
)
def test_a_network_contains_all_hosts(addresses: list[str], wanted: str) -> None:
    assert common_network(addresses) == wanted


def test_each_fills_the_numbers_into_the_command() -> None:
    command = ("run", "--shard={rank}/{size}", "{host}:{local_rank}", "{other}", "{{rank}}")
    job = replace(JOB, command=command)
    found = Each().rank_command(job, RankIdentity(5, 8, 1, 2, 0))
    assert found == ("run", "--shard=5/8", "a:1", "{other}", "{5}")


def test_each_has_as_many_ranks_as_the_job_says_and_ends_all_only_on_request() -> None:
    assert Each().rank_count(replace(RUN, job=replace(JOB, np=9))) == 9
    assert not Each().ends_all(JOB)
    assert Each().ends_all(run_of(fail_fast=True).job)


def test_the_spawner_names_failed_ranks() -> None:
    reader = SpawnedFailure()
    assert reader.read(RANK_FAILED.format(3, 137)) == (3, 137)
    assert reader.read("hvdocker: the connection to b is lost") is None


def test_mpirun_names_a_rank_that_lost_its_peer() -> None:
    lines = ["[hvd-b:00000] *** An error occurred in Socket closed", "[hvd-b:00000] *** reported by process [104156,2]"]
    reader = MpiFailure()
    assert [reader.consequence(line) for line in lines] == [None, 2]
    assert reader.consequence(lines[1]) is None


def test_mpirun_names_the_first_failed_rank() -> None:
    reader = MpiFailure()
    lines = ["  Process name: [prterun-a-7@1,2]", "  Exit code:    7"]
    assert [reader.read(line) for line in lines] == [None, (2, 7)]
    old = "mpirun noticed that process rank 1 with PID 0 on node b exited on signal 9 (Killed)."
    assert MpiFailure().read(old) == (1, 137)
