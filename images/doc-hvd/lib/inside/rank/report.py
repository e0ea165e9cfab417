"""Reports the start and end of a rank: as marks (messages) to the supervisor, and as rank-N.json in the job's folder on
this host."""

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from inside.protocol import paths
from inside.protocol.atomic_json import write_json
from inside.protocol.job import Job
from inside.protocol.marks import encode_mark
from inside.runtime.child import ChildExit


class Report:
    """Reports the start and the end of one rank. `who` identifies the rank in its marks (messages to the supervisor)
    and its record (rank-N.json) by number, host and training address; `start` is its start time in seconds since the
    epoch. `run` is the folder /run/hvdocker."""

    def __init__(self, job: Job, rank: int, run: Path = paths.RUN) -> None:
        self._record = paths.logs_folder(job.name, run) / f"rank-{rank}.json"
        self._ticks = time.monotonic()
        self.start = time.time()
        self.who: Mapping[str, Any] = {"rank": rank, "host": job.host, "address": job.address}  # Any: JSON

    def started(self, interface: str | None) -> None:
        """Report to the supervisor, by a mark (a message), that the command is about to start. `interface` is the
        network interface that training uses, None if it was not found."""
        write_stderr(encode_mark({"event": "rank-start", **self.who, "started": self.start, "interface": interface}))

    def ended(self, how: ChildExit, for_memory: bool = False, was_asked: bool = False) -> int:
        """Report that the command has ended, by a mark (a message) to the supervisor and in rank-N.json; return the
        code to exit with, that of the command. `how` says how it ended, `for_memory` that memory ran out, `was_asked`
        that the rank wrapper ended the command."""
        record = {
            **self.who,
            **how._asdict(),
            "oom": for_memory,
            "asked": was_asked,
            "seconds": round(time.monotonic() - self._ticks, 3),
            "started": self.start,
            "finished": time.time(),
        }
        # The mark comes first: the order in which marks arrive decides which rank failed first.
        write_stderr(encode_mark({"event": "rank-exit", **record}))
        try:
            write_json(self._record, record)
        except OSError as error:
            say_unbuffered(f"cannot write {self._record.name}: {error}")
        return how.code


def say_unbuffered(message: str) -> None:
    """Write a message to the user: one line on stderr with the prefix `hvdocker: `, written at once."""
    write_stderr(message_line(message))


def message_line(message: str) -> bytes:
    """Return a message as a line with the prefix `hvdocker: `."""
    return f"hvdocker: {message}\n".encode("utf-8", "backslashreplace")


def write_stderr(line: bytes) -> None:
    """Write the line to stderr in one piece. Errors are ignored, for example if stderr is closed."""
    with suppress(OSError):
        os.write(sys.stderr.fileno(), line)
