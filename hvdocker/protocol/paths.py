"""Where files are inside a container. The controller puts its files there before it starts the container, or the job
that reads them. Pure.

/train                        the code, a mount of ~/.hvdocker/CLUSTER/HOST/code on the host
/run/hvdocker/jobs/JOB        job.json, out and logs; ~/.hvdocker/CLUSTER/HOST/jobs/JOB on the host
/run/hvdocker/ssh             keys, known_hosts and configs, mode 0600
/run/hvdocker/secrets/JOB     the job's secrets, mode 0400
/run/hvdocker/record.json     in a master: the state of the job and how it ended
/out                          a symbolic link to the out folder of the newest job of this container, or of an older one
                              that still runs (`out_link.py`)
"""

from __future__ import annotations

from pathlib import Path

RUN = Path("/run/hvdocker")
BIN = Path("/opt/hvdocker/bin")
IMAGE_ENV = RUN / "image.env"
RECORD = RUN / "record.json"


def job_folder(job: str, run: Path = RUN) -> Path:
    """Return the folder of a job in the container, /run/hvdocker/jobs/JOB. `run` is the folder /run/hvdocker."""
    return run / "jobs" / job


def output_folder(job: str, run: Path = RUN) -> Path:
    """Return the folder for the outputs of a job's ranks, /run/hvdocker/jobs/JOB/out. Ranks get its path as
    `HVDOCKER_OUTPUT_DIR`. `run` is the folder /run/hvdocker."""
    return job_folder(job, run) / "out"


def logs_folder(job: str, run: Path = RUN) -> Path:
    """Return the folder for the logs and records of a job, /run/hvdocker/jobs/JOB/logs. `run` is the folder
    /run/hvdocker."""
    return job_folder(job, run) / "logs"


def rank_record(job: str, rank: int, run: Path = RUN) -> Path:
    """Return the path of the file that says how a rank ended, logs/rank-N.json. `run` is the folder /run/hvdocker."""
    return logs_folder(job, run) / f"rank-{rank}.json"


def secrets_folder(job: str, run: Path = RUN) -> Path:
    """Return the folder of a job's secrets, /run/hvdocker/secrets/JOB. It is in the container's own file system, never
    on a mount of the host's disk. `run` is the folder /run/hvdocker."""
    return run / "secrets" / job


def ranks_folder(job: str, run: Path = RUN) -> Path:
    """Return the folder with one file for each running rank of a job, /run/hvdocker/ranks/JOB (see
    `rank_registry.py`). It is in the container's own file system. `run` is the folder /run/hvdocker."""
    return run / "ranks" / job


def stacks_folder(job: str, rank: int, run: Path = RUN) -> Path:
    """Return the folder into which the Python processes of a rank write their stacks on request,
    /run/hvdocker/stacks/JOB/RANK. `run` is the folder /run/hvdocker."""
    return run / "stacks" / job / str(rank)
