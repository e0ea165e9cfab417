"""What the supervisor and the rank wrapper need to know about a launcher: the base class, with neutral defaults. Pure.

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
    """Finds stall warnings: messages of a framework, in the output of a rank, that other ranks are missing. Lines of a
    stall warning are no sign of work. `missing` has the ranks that the last warning names. This base class finds no
    warnings."""

    def __init__(self) -> None:
        self.missing: set[int] = set()

    def is_stall(self, rank: int, line: str) -> bool:
        """Return whether `line`, which `rank` wrote, belongs to a stall warning. Must get every line of every rank in
        order, because warnings may have several lines."""
        return False


class FailureReader:
    """Finds in the launcher's own lines (those without a rank header) which ranks failed, the first one at least, and
    which ranks failed because another rank had failed. Both methods must get every line in order, because a message may
    have several lines. This base class finds nothing."""

    def read(self, line: str) -> tuple[int, int] | None:
        """Return rank and exit code of a failed rank if `line` completes this information, else None. Code 255, which
        is ssh's own, may mean that the connection to the rank's host broke."""
        return None

    def consequence(self, line: str) -> int | None:
        """Return a rank that failed because another rank had failed, if `line` completes this information, else
        None."""
        return None


class Launcher:
    """A way to start the ranks of a job. `name` is its name in job.json. `program` must be on the image's PATH (empty:
    only `python` must be); `missing_advice` says what to do if it is not. `framework` is the name of the framework, for
    messages about its stall warnings. `busy_threads` is the number of background threads of a rank that never rest.
    `trusts_rank_numbers` says that a rank number in a stall warning is the one with which the process was started.
    `restarts_ranks` says that the job is elastic: the launcher itself starts ranks again when hosts come and go.
    `separates_devices` says that each rank sees only the GPU of its own slot, instead of all GPUs of the job on its
    host."""

    name = ""
    program = ""
    missing_advice = "use an image that has it"
    framework = ""
    busy_threads = 0
    trusts_rank_numbers = True
    restarts_ranks = False
    separates_devices = False

    def for_job(self, job: Job) -> "Launcher":
        """Return the launcher for this job: another subclass if the job needs one, for example because it is
        elastic."""
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
        """Return the start of an output line with the neutral header, `[RANK]<stdout>:` or `[RANK]<stderr>:`, in place
        of the launcher's own. Lines without a header stay as they are."""
        return piece

    def may_become_prefix(self, piece: bytes) -> bool:
        """Return whether `piece`, the unfinished start of an output line, may become the launcher's own header when
        more of the line arrives. The caller then holds the piece back. The caller itself recognizes the start of a
        neutral header (`[RANK]<stdout>:`), so an override need not."""
        return False

    def is_consequence(self, line: str) -> bool:
        """Return whether a line of a rank shows that the rank fails because another rank, or the network to it,
        failed."""
        return False

    def failure_reader(self) -> FailureReader:
        """Return a new reader of the lines with which the launcher itself names failed ranks."""
        return FailureReader()

    def stall_reader(self) -> StallReader:
        """Return a new reader of the framework's stall warnings."""
        return StallReader()

    def is_waiting(self, function: str, file: str) -> bool:
        """Return whether a stack frame, given by its function and file, shows that a rank waits in a collective
        operation of this framework. Usual names of such operations are known without this."""
        return False

    def identity(self, env: Mapping[str, str]) -> RankIdentity:
        """Return the numbers of a rank from the environment of its wrapper. Missing variables stand for the only
        rank of a job."""
        return RankIdentity(
            rank=int(env.get("RANK", "0")),
            size=int(env.get("WORLD_SIZE", "1")),
            local_rank=int(env.get("LOCAL_RANK", "0")),
            local_size=int(env.get("LOCAL_WORLD_SIZE", "1")),
            node_rank=int(env.get("GROUP_RANK", "0")),
        )

    def master_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return MASTER_ADDR and MASTER_PORT (where rank 0 listens) from the environment of the rank wrapper (`env`),
        if the launcher itself chose them. By default return nothing: the rank then gets the address of the head and the
        port of the job."""
        return {}

    def rank_command(self, job: Job, identity: RankIdentity) -> tuple[str, ...]:
        """Return the command that a rank runs: by default the user's command in job.json, unchanged."""
        return job.command

    def rank_env(self, identity: RankIdentity, job: Job, interface: str | None) -> dict[str, str]:
        """Return the variables that only this launcher gives to a rank's command. `interface` is the training interface
        of this host, None if it was not found. Variables of the image and of the job take precedence."""
        return {}
