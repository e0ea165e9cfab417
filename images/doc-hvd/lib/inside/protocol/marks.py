"""Marks are one-line JSON messages that ranks send to the supervisor. They go through the stderr of the rank, because
the launcher (horovodrun, which starts the ranks) offers no other channel back. The supervisor removes them from the
output. Pure."""

import json
import re
from collections.abc import Callable
from typing import Any

Mark = dict[str, Any]  # Any: JSON
MARK_START = b"\x1ehvdocker "
# The launcher's prefix of each line of a rank, with its optional time stamp.
PREFIX = re.compile(rb"(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?\[\d+\]<std(?:out|err)>:$")
# The start of a line that may still become a prefix followed by a mark.
MAYBE_PREFIX = re.compile(rb"(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?\[[^\x1e]{0,24}$")


def encode_mark(mark: Mark) -> bytes:
    """Return a mark (a message to the supervisor), such as {"event": "rank-start", "rank": 0}, as one line of bytes,
    ready to be written to stderr."""
    return MARK_START + json.dumps(mark, sort_keys=True).encode() + b"\n"


def extract_mark(line: bytes) -> tuple[bytes, Mark | None]:
    """Split a whole line of output into the text around the mark (a JSON message of a rank), and the mark. The prefix
    that the launcher (horovodrun) puts before the mark is left out of the text. If the line has no valid mark, return
    the line unchanged, and None."""
    before, sign, after = line.partition(MARK_START)
    if not sign:
        return line, None
    try:
        text = after.decode("utf-8", "replace")
        mark, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return line, None
    if not isinstance(mark, dict):
        return line, None
    rest = text[end:].encode() if text[end:].strip() else b""
    kept = PREFIX.sub(b"", before) + rest
    return (kept if not kept or kept.endswith(b"\n") else kept + b"\n"), mark


class MarkFilter:
    """Forwards a stream to `write` immediately, without its marks (messages of ranks to the supervisor), and passes
    every mark to `report`. Only bytes that may be part of a mark are held back. `begin` gets the start of each line and
    returns what to write in its place; by default lines stay as they are."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        report: Callable[[Mark], None],
        begin: Callable[[bytes], bytes] = lambda piece: piece,
    ) -> None:
        self._write = write
        self._report = report
        # Applied to the start of each line, which contains the whole prefix of the rank.
        self._begin = begin
        self._held = b""
        self._is_line_start = True

    def feed(self, data: bytes) -> None:
        """Process the next piece of the stream. A piece may begin and end anywhere in a line."""
        *lines, last = split_lines(self._held + data)
        self._held = b""
        for line in lines:
            self._pass(line)
            self._is_line_start = True
        if MARK_START[:1] in last or (self._is_line_start and MAYBE_PREFIX.match(last)):
            self._held = last
        elif last:
            self._write(self._begin(last) if self._is_line_start else last)
            self._is_line_start = False

    def close(self) -> None:
        """Process the end of the stream: forward the bytes that were held back."""
        self._pass(self._held)
        self._held = b""

    def _pass(self, line: bytes) -> None:
        kept, mark = extract_mark(line)
        if mark is not None:
            self._report(mark)
        if kept:
            self._write(self._begin(kept) if self._is_line_start else kept)


def split_lines(data: bytes) -> list[bytes]:
    r"""Split `data` into pieces that each end in \n or \r. The last piece is the unfinished rest, possibly empty."""
    pieces = re.split(rb"(?<=[\r\n])", data)
    return pieces if pieces else [b""]
