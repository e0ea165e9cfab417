"""torchrun: the spawner starts one torchrun on each host, and each torchrun starts the rank wrappers of its host.
Pure."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from hvdocker.protocol import variables
from hvdocker.protocol.job_file import Job, JobHost
from inside.launchers.launcher import Launcher, LauncherRun, RankIdentity
from inside.launchers.spawned import ProcessStart, Slot
from inside.launchers.torch import Torch, network_env, thread_env

# How often torchrun may start the ranks of an elastic job again, unless --max-restarts gives another number. Each
# lost host costs one. hvdocker itself gives up hosts whose ranks fail repeatedly.
ELASTIC_RESTARTS = 100
CONF_FLAG = "--rdzv-conf"
# In seconds, but `keep_alive_max_attempt` is a number. A host that does not answer for `keep_alive_interval` times
# this number is left out of the next rendezvous. Once the minimum of hosts is there, a rendezvous waits for further
# hosts for `last_call_timeout`. `join_timeout`, the wait for the minimum, has torchrun's default value.
RENDEZVOUS = {"last_call_timeout": 5, "keep_alive_interval": 2, "keep_alive_max_attempt": 3, "join_timeout": 600}


class Torchrun(Torch):
    """The launcher `torchrun` for jobs that are not elastic. The torchruns of the hosts find each other by torchrun's
    static rendezvous, in which the head is node 0. With `--max-restarts` on several hosts they use torchrun's c10d
    rendezvous instead."""

    name = "torchrun"
    program = "torchrun"
    listens = True

    def for_job(self, job: Job) -> Launcher:
        return ElasticTorchrun() if job.resilience.elastic else self

    def process_hosts(self, run: LauncherRun) -> tuple[JobHost, ...]:
        return tuple(JobHost(host.name, host.address, 1) for host in run.hosts)

    def process_count(self, run: LauncherRun) -> int:
        return len(run.hosts)

    def process(self, run: LauncherRun, key: int, slot: Slot) -> ProcessStart:
        host = run.hosts[slot.node]
        words = self.torchrun_words(run, host, slot.node)
        # With a shared store, torchrun (2.13) tells its address only in the first round: a host that joins later would
        # wait for it and fail.
        own_store = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"} if "--rdzv-backend" in words else {}
        return ProcessStart(key, words, {**torchrun_env(run.job, host.slots), **own_store})

    def torchrun_words(self, run: LauncherRun, host: JobHost, node: int) -> list[str]:
        """Return the command line of torchrun on `host`. `node` is the number of the host."""
        restarts = int(run.job.launcher.options.get("max_restarts", 0))
        if restarts and len(run.hosts) > 1:
            # The static rendezvous cannot start the ranks of several hosts again.
            return rendezvous_words(run, host, f"{len(run.hosts)}", restarts)
        return [
            "torchrun",
            *("--nnodes", str(len(run.hosts)), "--node-rank", str(node), "--nproc-per-node", str(host.slots)),
            *("--master-addr", run.job.head_address, "--master-port", str(run.job.master_port)),
            *("--local-addr", host.address, "--max-restarts", str(restarts)),
            *user_flags(run.job),
            *rank_words(run),
        ]

    def master_env(self, env: Mapping[str, str]) -> dict[str, str]:
        # After a host was lost, rank 0 may be on another host.
        return {name: env[name] for name in variables.MASTER if name in env}

    def rank_env(self, identity: RankIdentity, job: Job, interface: str | None) -> dict[str, str]:
        # TORCHELASTIC_RUN_ID is torchrun's.
        return {**network_env(interface), **thread_env(identity)}


class ElasticTorchrun(Torchrun):
    """The launcher `torchrun` for elastic jobs: hosts may leave and join."""

    restarts_ranks = True
    trusts_rank_numbers = False

    def torchrun_words(self, run: LauncherRun, host: JobHost, node: int) -> list[str]:
        restarts = int(run.job.launcher.options.get("max_restarts", ELASTIC_RESTARTS))
        least, most = node_bounds(run.job)
        return rendezvous_words(run, host, f"{least}:{most}", restarts)


def node_bounds(job: Job) -> tuple[int, int]:
    """Return the smallest and the largest number of hosts with which an elastic job may run. They are needed because
    torchrun counts hosts, not ranks. The smallest number is that of the hosts with the most slots that together have
    `min_np` slots. With other hosts this number may give fewer slots, so the spawner itself makes sure that there are
    `min_np` slots (`limited_hosts`)."""
    elastic = job.resilience.elastic
    assert elastic is not None
    shares = sorted((host.slots for host in job.hosts), reverse=True)
    least = next((count for count in range(1, len(shares)) if sum(shares[:count]) >= elastic.min_np), len(shares))
    # Each new host has at least one slot.
    room = sum(shares) + 1024 if elastic.max_np is None else elastic.max_np
    return least, max(least, len(shares) + max(0, room - sum(shares)))


def limited_hosts(job: Job, hosts: Sequence[JobHost]) -> tuple[JobHost, ...]:
    """Return those of `hosts` that an elastic job uses, in the same order. Together they have at most `max_np` slots,
    so the last host may be returned with fewer slots than it has. Return an empty tuple if there are fewer than
    `min_np` slots."""
    elastic = job.resilience.elastic
    assert elastic is not None
    left = sum(host.slots for host in hosts) if elastic.max_np is None else elastic.max_np
    chosen = []
    for host in hosts:
        slots = min(host.slots, left)
        left -= slots
        chosen += [JobHost(host.name, host.address, slots)] if slots else []
    return tuple(chosen) if sum(host.slots for host in chosen) >= elastic.min_np else ()


def rendezvous_words(run: LauncherRun, host: JobHost, nodes: str, restarts: int) -> list[str]:
    """Return the command line of torchrun on `host` with the c10d rendezvous. The torchrun of the head runs the
    rendezvous server. `nodes` is the number of hosts, or MIN:MAX. `restarts` is how often torchrun may start the ranks
    again."""
    is_head = host.name == run.job.host
    own = [f"{name}={value}" for name, value in {**RENDEZVOUS, "is_host": str(is_head).lower()}.items()]
    # torchrun takes the last --rdzv-conf only, and in it the last value of a name.
    conf = ",".join([*own, *flag_values(user_flags(run.job), CONF_FLAG)])
    head = run.job.head_address
    endpoint = f"[{head}]" if ":" in head else head
    return [
        "torchrun",
        *("--nnodes", nodes, "--nproc-per-node", str(host.slots), "--max-restarts", str(restarts)),
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{endpoint}:{run.job.master_port}"),
        *("--rdzv-id", f"{run.job.name}-{run.restart}", CONF_FLAG, conf, "--local-addr", host.address),
        *without_flag(user_flags(run.job), CONF_FLAG),
        *rank_words(run),
    ]


def user_flags(job: Job) -> list[str]:
    return [str(flag) for flag in job.launcher.options.get("flags", ())]


def flag_values(flags: Sequence[str], name: str) -> list[str]:
    """Return the values of the flag `name` in `flags`: every word that follows an occurrence of the flag. NAME=VALUE
    need not be handled, because the controller has split it into two words."""
    return [value for flag, value in pairwise(flags) if flag == name]


def without_flag(flags: Sequence[str], name: str) -> list[str]:
    """Return `flags` without the flag `name` and without the word after it, at every place where the flag occurs."""
    before = ("", *flags)
    return [word for last, word in zip(before, flags, strict=False) if name not in (last, word)]


def rank_words(run: LauncherRun) -> list[str]:
    """Return the end of torchrun's command line: the program to start for each rank, which is the rank wrapper."""
    return ["--no-python", str(run.layout.bin / "rank"), run.job.name]


def torchrun_env(job: Job, slots: int) -> dict[str, str]:
    """Return the environment variables for torchrun on a host with this number of slots. They set OMP_NUM_THREADS,
    because torchrun prints a warning if it has to set this variable itself. The result is empty if the host has one
    slot and the job does not set the variable."""
    threads = job.env.get("OMP_NUM_THREADS", "1" if slots > 1 else "")
    return {"OMP_NUM_THREADS": threads} if threads else {}


LAUNCHER = Torchrun()
