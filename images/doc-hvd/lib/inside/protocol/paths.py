"""Where things lie inside a container. The controller puts them there before the start."""

from pathlib import Path

RUN = Path("/run/hvdocker")
BIN = Path("/opt/hvdocker/bin")
IMAGE_ENV = RUN / "image.env"
RECORD = RUN / "record.json"


def job_folder(job: str, run: Path = RUN) -> Path:
    """The folder of one job on this host."""
    return run / "jobs" / job


def output_folder(job: str, run: Path = RUN) -> Path:
    """Where the ranks of one job write what they make."""
    return job_folder(job, run) / "out"


def logs_folder(job: str, run: Path = RUN) -> Path:
    """Where the records of one job go."""
    return job_folder(job, run) / "logs"


def secrets_folder(job: str, run: Path = RUN) -> Path:
    """Where the secrets of one job lie: in the container's own files, never on a mount."""
    return run / "secrets" / job


def ranks_folder(job: str, run: Path = RUN) -> Path:
    """Where the running ranks of one job are told, in the container's own files."""
    return run / "ranks" / job


def stacks_folder(job: str, rank: int, run: Path = RUN) -> Path:
    """Where the Python processes of one rank write their stacks when asked."""
    return run / "stacks" / job / str(rank)
