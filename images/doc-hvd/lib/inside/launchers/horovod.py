"""Horovod: horovodrun starts the ranks of a job on fixed hosts, over Gloo. `horovod_elastic.py` is for elastic jobs.
Pure.

The words of horovodrun's command line come from the controller (option `words` in job.json). If a restart uses other
hosts than those in job.json, the hosts and the number of ranks in these words are replaced."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from hvdocker.protocol.job_file import Job, JobHost
from inside.launchers.launcher import FailureReader, Launcher, LauncherRun, RankIdentity, StallReader

# --prefix-output-with-timestamp puts a date before the header of a line.
STAMP = rb"\w{3} \w{3} [ \d]\d [\d:]{8} \d{4}"
STAMP_BEFORE_HEADER = re.compile(STAMP + rb"(?=\[\d+\]<std(?:out|err)>:)")
STAMP_BEFORE_MAYBE_HEADER = re.compile(STAMP + rb"\[[^\x1e]{0,24}$")
# Errors that Horovod raises in a rank because another rank, or the network to another rank, failed.
CONSEQUENCE_ERRORS = re.compile(r"HorovodInternalError|Horovod has been shut down|Horovod initialization failed")
# horovodrun's last output: the first process that failed, and its exit code one line further down.
FIRST_FAILED_RANK = re.compile(r"Process name: (\d+)")
FIRST_FAILED_CODE = re.compile(r"Exit code: (\d+)")
# Horovod prints a stall warning every minute, through its first rank.
STALL_BEGINS = re.compile(r"stall_inspector\.cc:\d+\]")
STALL_HEAD = "Missing ranks:"
STALL_RANK = re.compile(r"(\d+)!?: \[.*")
STALL_ENDS = "One or more rank (marked by"


class Horovod(Launcher):
    """The launcher `horovod` for jobs that are not elastic."""

    name = "horovod"
    program = "horovodrun"
    framework = "Horovod"
    missing_advice = "build it on doc-hvd:cpu, or install Horovod in it"
    # An idle rank uses 8 to 37 % of a core, in two threads.
    busy_threads = 2

    def for_job(self, job: Job) -> Launcher:
        if job.resilience.elastic is None:
            return self
        from inside.launchers import horovod_elastic

        return horovod_elastic.LAUNCHER

    def needed_program(self, job: Job) -> str:
        return next(iter(words_of(job)), self.program)

    def command(self, run: LauncherRun) -> list[str]:
        """Return the command line: horovodrun's words, then the network interface, then the rank wrapper in place of
        the user's command. A run that has only the head gets no network interface. horovodrun requires loopback for
        such a run, and rejects other interfaces."""
        interface = None if run.is_alone else run.interface
        chosen = ["--network-interfaces", interface] if interface else []
        return [*self._words(run), *chosen, str(run.layout.bin / "rank"), run.job.name]

    def requested_rank_count(self, run: LauncherRun) -> int:
        return int(flag_value(self._words(run), "-np") or total_slots(run.hosts))

    def neutral_prefix(self, piece: bytes) -> bytes:
        found = STAMP_BEFORE_HEADER.match(piece)
        return piece[found.end() :] if found else piece

    def may_become_prefix(self, piece: bytes) -> bool:
        return bool(STAMP_BEFORE_MAYBE_HEADER.match(piece))

    def is_consequence(self, line: str) -> bool:
        return bool(CONSEQUENCE_ERRORS.search(line))

    def failure_reader(self) -> FailureReader:
        return HorovodFailureReader()

    def stall_reader(self) -> StallReader:
        return HorovodStallReader()

    def is_waiting(self, function: str, file: str) -> bool:
        return "/horovod/" in file or function.startswith("hvd.")

    def identity(self, env: Mapping[str, str]) -> RankIdentity:
        """Return the numbers that horovodrun gave the rank. The number of the host (`node_rank`) is left at -1, because
        horovodrun does not number hosts. Its `cross rank` is not the number of the host if hosts have different numbers
        of ranks."""
        return RankIdentity(
            rank=int(env.get("HOROVOD_RANK", "0")),
            size=int(env.get("HOROVOD_SIZE", "1")),
            local_rank=int(env.get("HOROVOD_LOCAL_RANK", "0")),
            local_size=int(env.get("HOROVOD_LOCAL_SIZE", "1")),
        )

    def rank_env(self, identity: RankIdentity, job: Job, interface: str | None) -> dict[str, str]:
        """Return the variables that make Horovod, Gloo, NCCL and Open MPI use the training interface, such as `eth0`;
        empty if `interface` is None."""
        if interface is None:
            return {}
        return {
            "HOROVOD_GLOO_IFACE": interface,
            "GLOO_SOCKET_IFNAME": interface,
            # A bare name is a prefix to NCCL: eth1 would also take eth10.
            "NCCL_SOCKET_IFNAME": "=" + interface,
            # For images with Open MPI: its messages, and the connections of its daemons.
            "OMPI_MCA_btl_tcp_if_include": interface,
            "OMPI_MCA_oob_tcp_if_include": interface,
        }

    def _words(self, run: LauncherRun) -> list[str]:
        words = words_of(run.job)
        return launcher_words(words, run.hosts) if run.hosts != run.job.hosts else words


class HorovodFailureReader(FailureReader):
    """Reads the end of horovodrun's own output. It names the rank that failed first and, on a later line, the exit code
    of this rank."""

    def __init__(self) -> None:
        self._rank: int | None = None

    def read(self, line: str) -> tuple[int, int] | None:
        if found := FIRST_FAILED_RANK.fullmatch(line):
            self._rank = int(found[1])
        elif self._rank is not None and (found := FIRST_FAILED_CODE.fullmatch(line)):
            return self._rank, int(found[1])
        return None


class HorovodStallReader(StallReader):
    """Reads Horovod's stall warnings (messages that ranks are missing). A warning has several lines."""

    def __init__(self) -> None:
        super().__init__()
        self._stalled: set[int] = set()

    def is_stall(self, rank: int, line: str) -> bool:
        if STALL_BEGINS.search(line):
            self._stalled.add(rank)
            return True
        if rank not in self._stalled:
            return False
        named = STALL_RANK.fullmatch(line)
        if line.startswith(STALL_HEAD):
            self.missing.clear()
            return True
        if named:
            self.missing.add(int(named[1]))
            return True
        self._stalled.discard(rank)
        return line.startswith(STALL_ENDS)


def words_of(job: Job) -> list[str]:
    """Return the words of horovodrun's command line, as the controller wrote them into job.json."""
    return [str(word) for word in job.launcher.options.get("words", ())]


def launcher_words(words: Sequence[str], job_hosts: Sequence[JobHost]) -> list[str]:
    """Return the command line `words` with `job_hosts` as the hosts (`-H`), and with `-np` set to the number of all
    their slots. Each host is given by its address, because horovodrun treats a name as a remote host unless it resolves
    to a local address."""
    hosts = ",".join(f"{job_host.address}:{job_host.slots}" for job_host in job_hosts)
    return with_flag_value(with_flag_value(words, "-np", str(total_slots(job_hosts))), "-H", hosts)


def with_flag_value(words: Sequence[str], flag: str, value: str) -> list[str]:
    """Return the command line `words` with `value` as the value of `flag`, such as `-np`. The value is the word after
    the last occurrence of the flag. If the words do not contain the flag, they are returned unchanged."""
    found = list(words)
    places = [place for place, word in enumerate(found[:-1]) if word == flag]
    if places:
        found[places[-1] + 1] = value
    return found


def flag_value(words: Sequence[str], flag: str) -> str | None:
    """Return the value of `flag`, such as `-np`, in the command line `words`, or None if the flag is not there. If it
    is there more than once, its last value counts, as for horovodrun."""
    values = [value for word, value in pairwise(words) if word == flag]
    return values[-1] if values else None


def total_slots(job_hosts: Sequence[JobHost]) -> int:
    return sum(job_host.slots for job_host in job_hosts)


LAUNCHER = Horovod()
