"""Parse the output of a job into lines with their rank and host. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

# The header of a rank's line, see line_header.py; older logs have variants of it.
_RANK = r"\[(\d+)(?:,\d+)?(?:@([^\]]*))?\]"
_PREFIX = re.compile(_RANK + r"<(stdout|stderr)>:?(.*)", re.DOTALL)
_PREFIX_ONLY = re.compile(_RANK + r"<(?:stdout|stderr)>:?")


@dataclass(frozen=True)
class Line:
    """A line of a job's output. `text` is the line without its prefix (the header of a rank's line). `rank` and `host`
    are None for lines that no rank wrote, such as those of the launcher. `host` is also None if the host of the rank is
    unknown. `is_error` says that the rank wrote the line to stderr. `is_state` says that the line is a state of a
    progress bar, which the next line of the same rank and stream overwrites."""

    text: str
    rank: int | None = None
    host: str | None = None
    is_error: bool = False
    is_state: bool = False


@dataclass(frozen=True)
class LineFilter:
    """Selects lines of output. A line must match all fields; a field that is empty or None matches every line. Lines of
    the launcher itself have no rank and no host, so a selection by rank or host excludes them. `pattern` is searched in
    the text. If `pattern` is set, states of progress bars (`is_state`) never match: the line that overwrites such a
    state may not match, and then the state would stay visible."""

    ranks: frozenset[int] = frozenset()
    hosts: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None

    def matches(self, line: Line) -> bool:
        if self.ranks and line.rank not in self.ranks:
            return False
        if self.hosts and line.host not in self.hosts:
            return False
        return self.pattern is None or (not line.is_state and bool(self.pattern.search(line.text)))


def parse_line(raw: str, host_of_rank: Sequence[str]) -> Line:
    """Split a raw line, such as `[1]<stderr>:text`, into its prefix (rank, host, stream) and its text. A line
    without such a prefix was written by the launcher itself. `host_of_rank` has the host of each rank by the
    placement; a host in the prefix (`[1@c]`) takes precedence. A rank's line that ends in a carriage return is a
    state of a progress bar."""
    found = _PREFIX.match(raw)
    if not found:
        return Line(raw)
    rank, text = int(found[1]), found[4]
    usual = host_of_rank[rank] if rank < len(host_of_rank) else None
    is_state = text.endswith("\r")
    return Line(text[:-1] if is_state else text, rank, found[2] or usual, found[3] == "stderr", is_state)


def settle_states(lines: Iterable[Line], is_open: bool = False) -> Iterator[Line]:
    """Yield the lines, and yield each final state of a progress bar once more as a plain line (`is_state` False).

    A state is a line with `is_state`, which the next line of the same rank and stream overwrites. A state is final if
    that next line is empty; its plain line then replaces the empty line. A state without a next line is final too; its
    plain line comes after all lines. With `is_open` more output will follow later, so a state without a next line is
    not final yet."""
    current: dict[tuple[int | None, bool], Line] = {}
    for line in lines:
        if line.is_state:
            current[line.rank, line.is_error] = line
        elif current and (state := current.pop((line.rank, line.is_error), None)) and not line.text:
            line = replace(state, is_state=False)
        yield line
    if not is_open:
        yield from (replace(state, is_state=False) for state in current.values())


def without_states(lines: Iterable[Line], is_open: bool = False) -> Iterator[Line]:
    """Yield the lines without the states of progress bars. Only the final state of a progress bar (see `settle_states`)
    is yielded, as a plain line. With `is_open` more output will follow later, so a state without a next line is not
    final yet and is left out."""
    return (line for line in settle_states(lines, is_open) if not line.is_state)


class LineAssembler:
    """Assembles chunks of bytes into whole lines: `feed` yields the lines that a chunk completes, `flush` yields the
    unfinished rest at the end.

    Each state of a rank's progress bar becomes a line of its own, which ends in a carriage return. If other text,
    such as that of the launcher, was overwritten with carriage returns, only its last state is kept."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[str]:
        if b"\n" not in chunk:
            self._rest.append(chunk)
            return
        first, *whole, rest = chunk.split(b"\n")
        for line in (b"".join((*self._rest, first)), *whole):
            yield from _states(line)
        self._rest = [rest]

    def flush(self) -> Iterator[str]:
        rest, self._rest = b"".join(self._rest), []
        if rest:
            yield from _states(rest)


def _states(line: bytes) -> list[str]:
    """Split a line of the output at its carriage returns into the texts that a terminal shows one after the other.

    In the output of a rank, each state of a progress bar is returned, with the prefix of the rank at its start and a
    carriage return at its end. Text after the last carriage return has none at its end. In output without a rank's
    prefix, each carriage return starts a new state, and only the last state is returned.

    Today the supervisor ends each state of a rank with a carriage return and a newline. In a log of an older version,
    all states of a progress bar are in one line; each has a prefix, and states of several ranks may be mixed."""
    text = line.decode("utf-8", "replace")
    if "\r" not in text:
        return [text]
    found: list[str] = []
    prefix = ""
    for piece in text.removesuffix("\r").split("\r"):
        match = _PREFIX_ONLY.match(piece)
        if found and not (match or prefix):
            found.pop()
        prefix = match[0] if match else prefix
        found.append((piece if match else prefix + piece) + "\r")
    if not prefix or not text.endswith("\r"):
        found[-1] = found[-1][:-1]
    return found
