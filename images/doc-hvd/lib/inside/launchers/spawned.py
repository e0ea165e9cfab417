"""The base class of launchers whose ranks are started by hvdocker's own program `spawn`. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hvdocker.protocol.job_file import Job, JobHost
from inside.launchers.launcher import FailureReader, Launcher, LauncherRun

# How the spawner names the first process that failed, if its rank could not report that itself.
FIRST_FAILED = "hvdocker: rank {} was the first to fail: exit code {}"
FIRST_FAILED_LINE = re.compile(r"hvdocker: rank (\d+) was the first to fail: exit code (\d+)")


@dataclass(frozen=True)
class Slot:
    """A place for one process: the host, the number of the host (`node`), and the number of the slot on it, among
    `local_size`."""

    host: str
    node: int
    local: int
    local_size: int


@dataclass(frozen=True)
class ProcessStart:
    """A process that the agent of a host is to start. `key` identifies it. `env` are the variables that it gets beyond
    those of every program. `rank` is its rank; None if it is a program that starts ranks itself."""

    key: int
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    rank: int | None = None


class SpawnedFailure(FailureReader):
    """Reads the line with which the spawner names the first failed rank."""

    def read(self, line: str) -> tuple[int, int] | None:
        found = FIRST_FAILED_LINE.fullmatch(line)
        return (int(found[1]), int(found[2])) if found else None


class SpawnedLauncher(Launcher):
    """A launcher whose processes the spawner starts: by default one rank wrapper for each slot. `listens` says that the
    ranks are started by another program, and send their output to the agent over a socket."""

    listens = False

    def command(self, run: LauncherRun) -> list[str]:
        return [str(run.layout.bin / "spawn"), run.job.name, *map(host_word, run.hosts)]

    def failure_reader(self) -> FailureReader:
        return SpawnedFailure()

    def ends_all(self, job: Job) -> bool:
        """Return whether the first failure ends all other processes."""
        return True

    def process_hosts(self, run: LauncherRun) -> tuple[JobHost, ...]:
        """Return the hosts with the number of processes that may run on each at the same time."""
        return run.hosts

    def process_count(self, run: LauncherRun) -> int:
        """Return how many processes there are, started or waiting for a slot."""
        return self.rank_count(run)

    def process(self, run: LauncherRun, key: int, slot: Slot) -> ProcessStart:
        """Return the process number `key`, which is to run in `slot`."""
        argv = (str(run.layout.bin / "rank"), run.job.name)
        return ProcessStart(key, argv, {**self.numbers(run, key, slot), **self.process_env(run, key, slot)}, key)

    def process_env(self, run: LauncherRun, rank: int, slot: Slot) -> dict[str, str]:
        """Return variables of one rank that depend on the hosts of this run."""
        return {}

    def numbers(self, run: LauncherRun, rank: int, slot: Slot) -> dict[str, str]:
        """Return the variables from which the rank wrapper reads the numbers of its rank."""
        return {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.process_count(run)),
            "LOCAL_RANK": str(slot.local),
            "LOCAL_WORLD_SIZE": str(slot.local_size),
            "GROUP_RANK": str(slot.node),
        }


def host_word(host: JobHost) -> str:
    """Return a host as a word on the command line of `spawn`."""
    return f"{host.name}={host.address}={host.slots}"


def parse_host_word(word: str) -> JobHost:
    """Return the host in a word on the command line of `spawn`. Raises ValueError."""
    name, address, slots = word.split("=")
    return JobHost(name, address, int(slots))
