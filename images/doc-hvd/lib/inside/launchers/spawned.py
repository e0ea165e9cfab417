"""The base class of launchers that leave the start of processes to `spawn` (the spawner), a program of hvdocker. The
spawner runs on the head. On each host it has an agent, the program `agent`, which starts the processes there. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hvdocker.protocol.job_file import Job, JobHost
from inside.launchers.launcher import FailureReader, Launcher, LauncherRun

# How the spawner names a rank that failed and could perhaps not report that itself.
RANK_FAILED = "hvdocker: rank {} failed: exit code {}"
RANK_FAILED_LINE = re.compile(r"hvdocker: rank (\d+) failed: exit code (\d+)")


@dataclass(frozen=True)
class Slot:
    """A slot for one process. `host` is the name of its host, and `node` the number of this host. `local` is the number
    of the slot on this host, from 0 to `local_size` - 1."""

    host: str
    node: int
    local: int
    local_size: int


@dataclass(frozen=True)
class ProcessStart:
    """What the agent of a host needs to start a process. `key` identifies the process to the agent. `argv` is the
    command line. `env` has the variables that only this process gets. `rank` is the rank of the process, or None for a
    program that starts ranks itself, such as torchrun."""

    key: int
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    rank: int | None = None


class SpawnedFailure(FailureReader):
    """Reads the lines in which the spawner names failed ranks."""

    def read(self, line: str) -> tuple[int, int] | None:
        found = RANK_FAILED_LINE.fullmatch(line)
        return (int(found[1]), int(found[2])) if found else None


class SpawnedLauncher(Launcher):
    """A launcher whose processes the spawner starts. By default each process is the rank wrapper of one rank. `listens`
    is True if the processes are other programs, such as torchrun, that start the rank wrappers. The rank wrappers then
    send their output to the agent of their host over a socket."""

    listens = False

    def command(self, run: LauncherRun) -> list[str]:
        return [str(run.layout.bin / "spawn"), run.job.name, *map(host_word, run.hosts)]

    def failure_reader(self) -> FailureReader:
        return SpawnedFailure()

    def ends_all(self, job: Job) -> bool:
        """Return whether the first process that fails ends all others."""
        return True

    def process_hosts(self, run: LauncherRun) -> tuple[JobHost, ...]:
        """Return the hosts on which the spawner starts processes. In the result, `slots` of a host is the number of
        processes that may run on it at the same time."""
        return run.hosts

    def process_count(self, run: LauncherRun) -> int:
        """Return how many processes the spawner starts in this run, including those that wait for a slot."""
        return self.rank_count(run)

    def process(self, run: LauncherRun, key: int, slot: Slot) -> ProcessStart:
        """Return how to start process number `key` in `slot`: its command line and its variables."""
        argv = (str(run.layout.bin / "rank"), run.job.name)
        return ProcessStart(key, argv, {**self.numbers(run, key, slot), **self.process_env(run, key, slot)}, key)

    def process_env(self, run: LauncherRun, rank: int, slot: Slot) -> dict[str, str]:
        """Return the variables of a rank that depend on the hosts of this run. By default there are none."""
        return {}

    def numbers(self, run: LauncherRun, rank: int, slot: Slot) -> dict[str, str]:
        """Return the variables from which the rank wrapper reads the numbers of its rank, such as RANK and
        WORLD_SIZE."""
        return {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.process_count(run)),
            "LOCAL_RANK": str(slot.local),
            "LOCAL_WORLD_SIZE": str(slot.local_size),
            "GROUP_RANK": str(slot.node),
        }


def host_word(host: JobHost) -> str:
    """Return a host as the word NAME=ADDRESS=SLOTS for the command line of `spawn`."""
    return f"{host.name}={host.address}={host.slots}"


def parse_host_word(word: str) -> JobHost:
    """Parse a word NAME=ADDRESS=SLOTS from the command line of `spawn`, and return the host. Raises ValueError if the
    word has another form."""
    name, address, slots = word.split("=")
    return JobHost(name, address, int(slots))
