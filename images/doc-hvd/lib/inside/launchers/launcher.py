"""The base class of all launchers, with neutral defaults: all that the supervisor and the rank wrapper ask a launcher.
Pure.

Each launcher is one file beside this one, with a subclass and an instance of it, `LAUNCHER`. Launchers have no state of
their own, so all parts of a program may share one object."""

from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.protocol.job_file import Job, JobHost
from inside.runtime.layout import Layout


@dataclass(frozen=True)
class RankIdentity:
    """The numbers of one rank: its rank among all ranks (`size` of them), its rank among those of its host
    (`local_size` of them), and the number of its host (`node_rank`). If the launcher does not number hosts, `node_rank`
    is -1; the rank wrapper then uses the position of the host in job.json."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    node_rank: int = -1


@dataclass(frozen=True)
class LauncherRun:
    """One run (attempt) of the launcher. `hosts` are the hosts that take part, the head first. `interface` is the
    head's training interface, None if it was not found or is not needed. `is_alone` says that the run can use no host
    but the head. `restart` is how often the job was restarted before."""

    job: Job
    hosts: tuple[JobHost, ...]
    layout: Layout
    interface: str | None
    is_alone: bool = False
    restart: int = 0


class StallReader:
    """Finds stall warnings in the output of ranks. A stall warning is a message of the framework that other ranks are
    missing. Its lines are no sign of work. `missing` has the ranks that the last warning names. This base class finds
    no warnings."""

    def __init__(self) -> None:
        self.missing: set[int] = set()

    def is_stall(self, rank: int, line: str) -> bool:
        """Return whether `line`, which `rank` wrote, belongs to a stall warning. Call this with every line of every
        rank in order, because a warning may have several lines."""
        return False


class FailureReader:
    """Reads the launcher's own lines (those without a rank header) for failed ranks. `read` finds ranks that failed, at
    least the first. `consequence` finds ranks that failed because another rank had failed. Call both methods with every
    line in order, because a message may have several lines. This base class finds nothing."""

    def read(self, line: str) -> tuple[int, int] | None:
        """Read the next line. If it completes a message that a rank failed, return the rank and its exit code, else
        None. Exit code 255 is ssh's own: the connection to the rank's host may be broken."""
        return None

    def consequence(self, line: str) -> int | None:
        """Read the next line. If it completes a message that a rank failed because another rank had failed, return the
        number of the former, else None."""
        return None


class Launcher:
    """A way to start the ranks of a job. `name` is its name in job.json. `program` is the program that must be on the
    image's PATH (empty: only `python` is needed); `missing_advice` says what to do if it is missing. `framework` is the
    name of the framework, for messages about its stall warnings. `busy_threads` is the number of background threads of
    a rank that never rest. `trusts_rank_numbers` says that a rank number in a stall warning is the one with which the
    process was started. `restarts_ranks` says that the job is elastic: the launcher itself starts ranks again when
    hosts come and go. `separates_devices` says that each rank sees only the GPU of its own slot, instead of all GPUs of
    the job on its host."""

    name = ""
    program = ""
    missing_advice = "use an image that has it"
    framework = ""
    busy_threads = 0
    trusts_rank_numbers = True
    restarts_ranks = False
    separates_devices = False

    def for_job(self, job: Job) -> "Launcher":
        """Return the launcher for this job. By default this is the object itself. A launcher that needs another
        subclass for some jobs, for example for elastic jobs, returns an object of that subclass."""
        return self

    def needed_program(self, job: Job) -> str:
        """Return the program that must be on the image's PATH for this job; empty if only `python` must be there."""
        return self.program

    def command(self, run: LauncherRun) -> list[str]:
        """Return the command line of the process that starts all ranks and ends when they have ended. Its first word
        is looked up in the image's PATH."""
        raise NotImplementedError

    def rank_count(self, run: LauncherRun) -> int:
        """Return the number of ranks that this run begins with."""
        return sum(host.slots for host in run.hosts)

    def requested_rank_count(self, run: LauncherRun) -> int:
        """Return the number of ranks that record.json names for this run. An elastic job may begin with more."""
        return self.rank_count(run)

    def elastic_timeout_s(self, job: Job) -> float:
        """Return how many seconds an elastic job waits for missing slots before it gives up."""
        return 600.0

    def neutral_prefix(self, piece: bytes) -> bytes:
        """Take `piece`, the start of an output line, and return it with the neutral header, `[RANK]<stdout>:` or
        `[RANK]<stderr>:`, in place of the launcher's own header. Lines without a header are returned unchanged."""
        return piece

    def may_become_prefix(self, piece: bytes) -> bool:
        """Return whether `piece`, the unfinished start of an output line, may become the launcher's own header when
        more of the line arrives. The caller then holds the piece back. Overrides need not recognize the start of a
        neutral header (`[RANK]<stdout>:`), because the caller does that itself."""
        return False

    def is_consequence(self, line: str) -> bool:
        """Return whether a line of a rank shows that this rank fails only because another rank, or the network to
        another rank, failed."""
        return False

    def failure_reader(self) -> FailureReader:
        """Return a new reader for the lines in which the launcher itself names failed ranks."""
        return FailureReader()

    def stall_reader(self) -> StallReader:
        """Return a new reader of the framework's stall warnings."""
        return StallReader()

    def is_waiting(self, function: str, file: str) -> bool:
        """Return whether a stack frame is inside a collective operation of the launcher's framework (`framework`, such
        as PyTorch). A rank in such a call waits for other ranks. The frame is given by its function and file.

        The caller itself recognizes the usual names of such operations, such as allreduce. This base class recognizes
        no others."""
        return False

    def identity(self, env: Mapping[str, str]) -> RankIdentity:
        """Return the numbers of a rank from the environment of its rank wrapper (`env`). If the variables are missing,
        return the numbers of a job with a single rank."""
        return RankIdentity(
            rank=int(env.get("RANK", "0")),
            size=int(env.get("WORLD_SIZE", "1")),
            local_rank=int(env.get("LOCAL_RANK", "0")),
            local_size=int(env.get("LOCAL_WORLD_SIZE", "1")),
            node_rank=int(env.get("GROUP_RANK", "0")),
        )

    def master_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return MASTER_ADDR and MASTER_PORT (where rank 0 listens) from the environment of the rank wrapper (`env`),
        if the launcher itself chose them. By default return an empty dict: the rank then gets the address of the head
        and the port of the job."""
        return {}

    def rank_command(self, job: Job, identity: RankIdentity) -> tuple[str, ...]:
        """Return the command that a rank runs: by default the user's command in job.json, unchanged."""
        return job.command

    def rank_env(self, identity: RankIdentity, job: Job, interface: str | None) -> dict[str, str]:
        """Return the variables that only this launcher gives to a rank's command. `interface` is the training interface
        of this host, None if it was not found. Variables of the image and of the job take precedence."""
        return {}
