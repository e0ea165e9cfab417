"""Which ranks run in this container: a file for each, in the container's own files, for as long as it runs;
and the folder in which its Python processes answer when they are asked where they are."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from inside.protocol import paths
from inside.protocol.atomic_json import write_json


class Entry(NamedTuple):
    """A rank, the process that is its command, and its wrapper, which keeps its last words."""

    rank: int
    pid: int
    host: str
    wrapper: int = 0


def enter(job: str, entry: Entry, run: Path = paths.RUN) -> None:
    """The rank runs. Without the file it is only not found."""
    path = paths.ranks_folder(job, run) / f"{entry.rank}.json"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, entry._asdict())


def leave(job: str, rank: int, pid: int | None, run: Path = paths.RUN) -> None:
    """The rank, whose command was `pid`, has ended: nothing of it stays. Another may have its number
    by now."""
    path = paths.ranks_folder(job, run) / f"{rank}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        if json.loads(path.read_text(encoding="utf-8"))["pid"] != pid:
            return
        path.unlink()
    shutil.rmtree(paths.stacks_folder(job, rank, run), ignore_errors=True)


def make_stacks_folder(job: str, rank: int, run: Path = paths.RUN) -> None:
    """Where it is missing, Python processes of the rank just do not answer."""
    with suppress(OSError):
        paths.stacks_folder(job, rank, run).mkdir(parents=True, exist_ok=True)


def present(job: str, run: Path = paths.RUN) -> list[Entry]:
    """The ranks of the job in this container."""
    found = []
    for path in paths.ranks_folder(job, run).glob("[0-9]*.json"):
        with suppress(OSError, ValueError, TypeError):
            found.append(Entry(**json.loads(path.read_text(encoding="utf-8"))))
    return sorted(found)
