"""Open MPI: mpirun on the head logs in to the other hosts with hvdocker's ssh, and starts the rank wrappers on all
hosts. Pure.

mpirun gets its settings as environment variables, because Open MPI 4 and 5 have different flags for them. Each version
ignores the variables of the other."""

import ipaddress
import re
from collections.abc import Mapping, Sequence

from hvdocker.protocol import variables
from hvdocker.protocol.job_file import Job, JobHost
from inside.launchers.launcher import FailureReader, LauncherRun, RankIdentity
from inside.launchers.spawned import ProcessStart, Slot, SpawnedLauncher

# A rank's own messages when a peer is gone.
CONSEQUENCE = re.compile(
    r"MPI_ABORT was invoked|MPI_ERR_PROC_FAILED|peer.*(?:hung up|has unexpectedly)|connection to a peer"
    r"|\[.*btl_tcp.*\]|mca_btl_tcp|Transport retry count exceeded|Connection reset by peer",
    re.IGNORECASE,
)
# mpirun's last output: the first process that failed, and its exit code on a later line. The name ends in the rank.
FIRST_FAILED_RANK = re.compile(r"\s*Process name: \[\S*?,\s?(\d+)\]")
FIRST_FAILED_CODE = re.compile(r"\s*Exit code:\s+(\d+)")
# A process that a signal ended is named in one sentence. If a line break cuts it before the signal, it is not used.
FIRST_SIGNALED = re.compile(r".*process rank (\d+) with PID \d+ on node .* exited on(?: signal (\d+))?.*")
# What Open MPI reports for a rank whose peer is gone: two lines, the second with the rank.
PEER_GONE = re.compile(r"\[\S+\] \*\*\* An error occurred in Socket closed")
REPORTED_BY = re.compile(r"\[\S+\] \*\*\* reported by process \[\d+,(\d+)\]")
WAITING_FILES = ("/mpi4py/",)
# The variables that mpirun passes on to the rank wrappers.
PASSED_ON = (variables.OUTPUT_SOCKET, variables.RESTART)


class MpiFailure(FailureReader):
    """Reads the lines in which mpirun names failed ranks: the process that failed first, and a rank that reported that
    its peer is gone."""

    def __init__(self) -> None:
        self._rank: int | None = None
        self._is_peer_gone = False

    def consequence(self, line: str) -> int | None:
        if PEER_GONE.match(line):
            self._is_peer_gone = True
        elif self._is_peer_gone and (found := REPORTED_BY.match(line)):
            self._is_peer_gone = False
            return int(found[1])
        return None

    def read(self, line: str) -> tuple[int, int] | None:
        if found := FIRST_SIGNALED.fullmatch(line):
            return (int(found[1]), 128 + int(found[2])) if found[2] else None
        if found := FIRST_FAILED_RANK.match(line):
            self._rank = int(found[1])
        elif self._rank is not None and (found := FIRST_FAILED_CODE.fullmatch(line)):
            return self._rank, int(found[1])
        return None


class Mpi(SpawnedLauncher):
    """The launcher `mpi`. The spawner starts one process, mpirun on the head, and mpirun starts the ranks of all hosts.
    The spawner's agents on the other hosts only collect the output of these ranks."""

    name = "mpi"
    program = "mpirun"
    framework = "Open MPI"
    listens = True

    def is_consequence(self, line: str) -> bool:
        return bool(CONSEQUENCE.search(line))

    def is_waiting(self, function: str, file: str) -> bool:
        return any(part in file for part in WAITING_FILES)

    def failure_reader(self) -> FailureReader:
        return MpiFailure()

    def process_hosts(self, run: LauncherRun) -> tuple[JobHost, ...]:
        head = run.hosts[0]
        return (JobHost(head.name, head.address, 1),)

    def process_count(self, run: LauncherRun) -> int:
        return 1

    def process(self, run: LauncherRun, key: int, slot: Slot) -> ProcessStart:
        hosts = ",".join(f"{host.address}:{host.slots}" for host in run.hosts)
        flags = [str(flag) for flag in run.job.launcher.options.get("flags", ())]
        words = ["mpirun", "-np", str(self.rank_count(run)), "--host", hosts, "--map-by", "slot"]
        # Open MPI 5 refuses a second --bind-to.
        words += [] if "--bind-to" in flags else ["--bind-to", "none"]
        words += [word for name in PASSED_ON for word in ("-x", name)]
        words += flags
        return ProcessStart(key, (*words, str(run.layout.bin / "rank"), run.job.name), mpirun_env(run))

    def identity(self, env: Mapping[str, str]) -> RankIdentity:
        return RankIdentity(
            rank=int(env.get("OMPI_COMM_WORLD_RANK", "0")),
            size=int(env.get("OMPI_COMM_WORLD_SIZE", "1")),
            local_rank=int(env.get("OMPI_COMM_WORLD_LOCAL_RANK", "0")),
            local_size=int(env.get("OMPI_COMM_WORLD_LOCAL_SIZE", "1")),
            node_rank=-1,
        )

    def rank_env(self, identity: RankIdentity, job: Job, interface: str | None) -> dict[str, str]:
        # MPI_Finalize waits for all ranks, and these wait for a failed one.
        network = {} if interface is None else {"OMPI_MCA_btl_tcp_if_include": interface}
        return {variables.FAIL_FAST: "1", **network}


def mpirun_env(run: LauncherRun) -> dict[str, str]:
    """Return the variables with mpirun's settings: hvdocker's ssh, the training network, the time between SIGTERM and
    SIGKILL of ranks, and the command that starts mpirun's daemon on another host. This command begins with
    `bin/in-image`, which restores the environment of the image, because an ssh session does not have its PATH."""
    network = common_network([host.address for host in run.hosts])
    ssh, grace_s = str(run.layout.bin / "ssh"), f"{run.job.grace_s + 2:.0f}"
    agent = str(run.layout.bin / "in-image")
    settings = {
        "OMPI_MCA_plm_rsh_agent": ssh,
        "OMPI_MCA_orte_launch_agent": f"{agent} orted",
        "OMPI_MCA_odls_base_sigkill_timeout": grace_s,
        "OMPI_MCA_oob_tcp_if_include": network,
        "OMPI_MCA_btl_tcp_if_include": network,
        "PRTE_MCA_plm_ssh_agent": ssh,
        "PRTE_MCA_prte_launch_agent": f"{agent} prted",
        "PRTE_MCA_odls_base_sigkill_timeout": grace_s,
        "PRTE_MCA_prte_if_include": network,
    }
    # The containers run as root where the user logs in to the hosts as root.
    may_be_root = {f"{name}_ALLOW_RUN_AS_ROOT{end}": "1" for name in ("OMPI", "PRTE") for end in ("", "_CONFIRM")}
    return {**settings, **may_be_root}


def common_network(addresses: Sequence[str]) -> str:
    """Return the smallest network that contains all addresses, such as 198.18.0.0/30. mpirun gets this network instead
    of the name of an interface, because the name may differ from host to host."""
    found = [ipaddress.ip_address(address.partition("%")[0]) for address in addresses]
    bits = found[0].max_prefixlen
    different = max(int(one) ^ int(found[0]) for one in found).bit_length()
    return str(ipaddress.ip_network(f"{found[0]}/{bits - different}", strict=False))


LAUNCHER = Mpi()
