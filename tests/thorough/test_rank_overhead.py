"""What hvdocker adds to a rank, counted on every host while a job of one rank per host waits: processes and their
threads, pipes and sockets, files, and what differs between a rank and a process that `docker exec` starts.

A change that adds a process or a thread fails here. If it is worth its price: run the test, read the difference, paste
the printed table, and justify it in the commit. No duration or CPU time is measured."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from pprint import pformat

import pytest

from hvdocker.protocol import variables
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import LabError, until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase
from tests.cluster.training import DEADLINE_S, await_no_ranks, await_ranks, open_gate, train_detached

LAUNCHERS = ("each", "horovod", "torch")
GATE = "overhead"
BY_HAND = "started-by-hand"
SETTLED_S = 20.0

Process = tuple[int, int, int]  # threads, pipes, sockets
Programs = dict[str, list[Process]]  # by program, one entry for each process

# `rank` is the wrapper's guard and its inner process; gate.py and its two children are the rank itself. In each
# container docker-init is the first process, and the worker has an sshd.
WORKER: Programs = {"docker-init": [(1, 2, 0)], "sshd": [(1, 2, 1)]}
MASTER: Programs = {"docker-init": [(1, 2, 0), (1, 2, 0)], "supervisor": [(1, 6, 0)]}
RANK: Programs = {"gate.py": [(1, 2, 0)], "sleep": [(1, 2, 0), (1, 2, 0)]}
WRAPPED: Programs = RANK | {"rank": [(1, 2, 1), (1, 6, 1)]}
SPAWNED: dict[str, Programs] = {
    "h1": WORKER | WRAPPED | MASTER | {"spawn": [(1, 10, 0)], "agent": [(1, 7, 0)], "ssh": [(1, 5, 1)]},
    "h2": WORKER | WRAPPED | {"agent": [(1, 7, 0)], "sshd": [(1, 1, 3), (1, 2, 1), (1, 4, 3)]},
}
PROCESSES: dict[str, dict[str, Programs]] = {
    "each": SPAWNED,
    "torch": SPAWNED,
    # horovodrun has threads of its own, helpers of Python's multiprocessing (`from`), and an ssh for each other host.
    # There the shell that sshd starts stays.
    "horovod": {
        "h1": WORKER
        | WRAPPED
        | MASTER
        | {
            "from": [(1, 3, 0), (3, 8, 0), (3, 8, 0)],
            "horovodrun": [(12, 13, 1)],
            "sh": [(1, 2, 0), (1, 2, 0)],
            "ssh": [(1, 3, 1)],
        },
        "h2": WORKER
        | RANK
        | {
            "rank": [(1, 3, 1), (1, 7, 1)],
            "sh": [(1, 3, 0)],
            "sshd": [(1, 1, 3), (1, 2, 1), (1, 3, 3)],
        },
    },
}
# Files in the job's folder on each host.
FILES: dict[str, dict[str, list[str]]] = {
    name: {
        "h1": ["capsule.json", "job.json", "logs/rank-0.log", "logs/record.json"],
        "h2": ["capsule.json", "job.json", "logs/rank-1.log"],
    }
    for name in PROCESSES
}
# Variables that a rank has and a process of `docker exec` has not: those of docs/launchers.md, and the names of job,
# host and folders. A limit of threads, such as OMP_NUM_THREADS, is not among them if a host has one rank.
COMMON = {
    *(*variables.NUMBERS, *variables.MASTER, *variables.OWN_NUMBERS, variables.JOB, variables.RESTART),
    *(f"HVDOCKER_{name}" for name in ("ADDRESS", "CLUSTER", "HOST", "OUTPUT_DIR", "STACKS")),
    *("FROM_INVENTORY", "LC_ALL", "PWD", "PYTHONUNBUFFERED"),
}
INTERFACES = {"GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"}
# Of horovodrun, and the interface under its other names.
HOROVODRUN = {
    *(f"HOROVOD_{name}" for name in ("CONTROLLER", "CPU_OPERATIONS", "HOSTNAME", "RANK", "SIZE")),
    *(f"HOROVOD_{name}" for name in ("LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")),
    *(f"HOROVOD_GLOO_{name}" for name in ("IFACE", "RENDEZVOUS_ADDR", "RENDEZVOUS_PORT")),
    *("OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"),
}
# By launcher: on the head, and on the other host, where a launcher may have logged in by ssh.
ADDED_VARIABLES: dict[str, tuple[set[str], set[str]]] = {
    "each": (COMMON, COMMON),
    "torch": (COMMON | INTERFACES | {"TORCHELASTIC_RUN_ID"},) * 2,
    "horovod": (COMMON | INTERFACES | HOROVODRUN, COMMON | INTERFACES | HOROVODRUN | {"LOGNAME", "SHELL", "USER"}),
}

COUNT_SCRIPT = r"""
for pid; do
    files=$(ls -l "/proc/$pid/fd" 2>/dev/null) || continue
    threads=$(sed -n 's/^Threads:[^0-9]*//p' "/proc/$pid/status")
    pipes=$(echo "$files" | grep -c ' pipe:')
    sockets=$(echo "$files" | grep -c ' socket:')
    echo "$threads $pipes $sockets $(tr '\0\n' '  ' < "/proc/$pid/cmdline")"
done
"""
LIMITS_SCRIPT = r"""
grep -E '^(Threads|Cpus_allowed_list|Seccomp|NoNewPrivs):' "/proc/$1/status"
cat "/proc/$1/limits" "/proc/$1/oom_score_adj"
cut -d ' ' -f 18,19,40,41 "/proc/$1/stat"  # priority, nice, real-time priority, policy
"""


@pytest.fixture(scope="module")
def job(training: LabCluster) -> Iterator[str]:
    """A job whose two ranks wait at a gate."""
    started = train_detached(training, "code/gate.py", "-H", "h1:1,h2:1", "--", GATE)
    await_ranks(training, "gate.py")
    yield started
    open_gate(training, GATE)
    await_no_ranks(training)


def container_pids(site: LabCluster, host: LabHost) -> list[str]:
    """Return the process ids, as the host has them, of all processes in the cluster's containers on that host."""
    names = host.docker("ps", "-q", "--filter", f"label=hvdocker.cluster={site.cluster}").split()
    return [pid for name in names for pid in host.docker("top", name, "-eo", "pid").split()[1:]]


def programs_on(site: LabCluster, host: LabHost) -> Programs:
    script = ["sh", "-c", COUNT_SCRIPT, "count", *container_pids(site, host)]
    found: Programs = {}
    for line in host.exec(script).splitlines():
        threads, pipes, sockets, words = line.split(None, 3)
        found.setdefault(program_of(words), []).append((int(threads), int(pipes), int(sockets)))
    return {name: sorted(processes) for name, processes in sorted(found.items())}


def program_of(words: str) -> str:
    """Return the name of the program that a command line runs: of the script if an interpreter runs one."""
    first, *rest = words.split()
    name = PurePath(first.rstrip(":")).name
    scripts = [word for word in rest if not word.startswith("-")]
    return PurePath(scripts[0]).name if name.startswith("python") and scripts else name


def test_processes_threads_and_pipes_on_each_host(training: LabCluster, launcher: LauncherCase, job: str) -> None:
    expected = PROCESSES[launcher.name]

    def measure() -> dict[str, Programs]:
        return {host.name: programs_on(training, host) for host in training.hosts}

    # Short commands may run at first, such as the questions whether hosts respond. What stays is compared.
    with suppress(LabError):
        until(lambda: measure() == expected or None, "nothing but the job's processes", SETTLED_S)
    found = measure()
    assert found == expected, f"measured:\n{pformat(found, width=110)}"


def test_files_of_a_running_job(training: LabCluster, launcher: LauncherCase, job: str) -> None:
    found = {
        host.name: sorted(host.exec(f"cd {training.folder_on(host)}/jobs/{job} && find * -type f").split())
        for host in training.hosts
    }
    assert found == FILES[launcher.name], f"measured:\n{pformat(found, width=110)}"


@pytest.mark.parametrize("number", [0, 1], ids=["head", "other host"])
def test_a_rank_differs_from_a_process_by_hand_only_in_documented_variables(
    training: LabCluster, launcher: LauncherCase, job: str, number: int
) -> None:
    host = training.hosts[number]
    (rank,) = pids_with_word(training, host, "gate.py")
    with process_by_hand(training, host) as by_hand:
        own, other = environment_of(host, rank), environment_of(host, by_hand)
        limits, other_limits = limits_of(host, rank), limits_of(host, by_hand)
    added = set(own) - set(other)
    assert added == ADDED_VARIABLES[launcher.name][number], f"measured: {sorted(added)}"
    assert {name: (other[name], own.get(name)) for name in other if own.get(name) != other[name]} == {}
    assert limits == other_limits


def pids_with_word(site: LabCluster, host: LabHost, word: str) -> list[str]:
    """Return the ids of processes in the cluster's containers on that host whose command line has a word that ends
    with `word`."""
    script = 'w=$1; shift; for p; do tr "\\0" "\\n" < /proc/$p/cmdline | grep -q -e "$w$" && echo $p; done; true'
    return host.exec(["sh", "-c", script, "find", word, *container_pids(site, host)]).split()


@contextmanager
def process_by_hand(site: LabCluster, host: LabHost) -> Iterator[str]:
    """Start a Python process in the worker with `docker exec`, and yield its process id."""
    program = ("python", "-c", "import time; time.sleep(600)", BY_HAND)
    host.docker("exec", "-d", "-w", "/train", site.worker, *program)

    def started() -> str | None:
        return next(iter(pids_with_word(site, host, BY_HAND)), None)

    pid = until(started, f"a process runs by hand on {host.name}", DEADLINE_S)
    try:
        yield pid
    finally:
        host.exec(["kill", pid])


def environment_of(host: LabHost, pid: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in host.exec(["cat", f"/proc/{pid}/environ"]).split("\0") if line)
    return {name: value for name, _, value in pairs}


def limits_of(host: LabHost, pid: str) -> str:
    """Return the CPU affinity, threads, priorities and limits of a process."""
    return host.exec(["sh", "-c", LIMITS_SCRIPT, "limits", pid])
