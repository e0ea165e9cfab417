"""Reports the start and end of a rank: as marks (messages) to the supervisor, and as rank-N.json in the job's folder on
this host."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from hvdocker.protocol import paths
from hvdocker.protocol.job_file import Job
from hvdocker.protocol.marks import encode_mark
from hvdocker.protocol.rank_messages import RankWho, exit_mark, exit_record, start_mark
from inside.runtime.atomic_json import write_json
from inside.runtime.child import ChildExit


class Report:
    """Reports the start and the end of one rank. `who` identifies the rank in its marks (messages to the supervisor)
    and its record (rank-N.json) by number, host and training address; `start` is its start time in seconds since the
    epoch. `run` is the folder /run/hvdocker."""

    def __init__(self, job: Job, rank: int, run: Path = paths.RUN) -> None:
        self._record = paths.rank_record(job.name, rank, run)
        self._ticks = time.monotonic()
        self.start = time.time()
        self.who = RankWho(rank, job.host, job.address)

    def started(self, interface: str | None) -> None:
        """Report to the supervisor, by a mark (a message), that the command is about to start. `interface` is the
        network interface that training uses, None if it was not found."""
        write_stderr(encode_mark(start_mark(self.who, self.start, interface)))

    def ended(self, how: ChildExit, for_memory: bool = False, was_asked: bool = False) -> int:
        """Report that the command has ended, by a mark (a message) to the supervisor and in rank-N.json. Return the
        exit code of the command, with which the rank wrapper has to exit. `how` says how the command ended,
        `for_memory` that memory ran out, `was_asked` that the rank wrapper asked the command to end."""
        seconds = round(time.monotonic() - self._ticks, 3)
        record = exit_record(self.who, how._asdict(), for_memory, was_asked, self.start, time.time(), seconds)
        # The mark comes first: the order in which marks arrive decides which rank failed first.
        write_stderr(encode_mark(exit_mark(record)))
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
