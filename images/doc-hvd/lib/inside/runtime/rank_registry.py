"""The registry of the ranks that run in this container. Each rank has a file in the container's own file system for as
long as it runs. If the rank wrapper is killed, the file may stay. This module also makes the folder into which a rank's
Python processes write their stacks."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hvdocker.protocol import paths
from inside.runtime.atomic_json import write_json


class RankEntry(NamedTuple):
    """The registry's entry of a running rank. `pid` is the process id of the rank's command. `wrapper` is the process
    id of its rank wrapper, which writes its log and record (0 if the file does not name it). `host` is the host of this
    container. The field names are keys of the file."""

    rank: int
    pid: int
    host: str
    wrapper: int = 0


def register_rank(job: str, entry: RankEntry, run: Path = paths.RUN) -> None:
    """Write the registry file of a running rank of `job`. Errors are ignored: the rank still runs, but `stacks`,
    `check` and the verb `stop` do not find it. `run` is the folder /run/hvdocker."""
    path = paths.ranks_folder(job, run) / f"{entry.rank}.json"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, entry._asdict())


def unregister_rank(job: str, rank: int, pid: int | None, run: Path = paths.RUN) -> None:
    """Remove the registry file and the stacks folder of a rank that has ended. `pid` was the process id of its command,
    None if the command did not start. If the registry file names another process id, the same rank was started again,
    and nothing is removed. `run` is the folder /run/hvdocker."""
    path = paths.ranks_folder(job, run) / f"{rank}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        if json.loads(path.read_text(encoding="utf-8"))["pid"] != pid:
            return
        path.unlink()
    shutil.rmtree(paths.stacks_folder(job, rank, run), ignore_errors=True)


def make_stacks_folder(job: str, rank: int, run: Path = paths.RUN) -> None:
    """Make the folder into which Python processes of the rank write their stacks. Errors are ignored: the rank still
    runs, but its Python processes cannot write stacks. `run` is the folder /run/hvdocker."""
    with suppress(OSError):
        paths.stacks_folder(job, rank, run).mkdir(parents=True, exist_ok=True)


def registered_ranks(job: str, run: Path = paths.RUN) -> list[RankEntry]:
    """Return the ranks of the job that have a registry file in this container, ordered by rank. A rank whose wrapper
    was killed may be among them although it has ended. Registry files that cannot be read are left out. `run` is the
    folder /run/hvdocker."""
    found = []
    for path in paths.ranks_folder(job, run).glob("[0-9]*.json"):
        with suppress(OSError, ValueError, TypeError):
            found.append(RankEntry(**json.loads(path.read_text(encoding="utf-8"))))
    return sorted(found)
