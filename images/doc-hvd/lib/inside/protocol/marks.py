"""Marks: one-line messages that ranks send to the supervisor through their own stderr, the one way
back that the launcher leaves open. The supervisor takes them out of the output again."""

import json
import re
from collections.abc import Callable
from typing import Any

Mark = dict[str, Any]  # Any: JSON
SIGN = b"\x1ehvdocker "
# What the launcher puts before each line of a rank, with its optional time stamp.
PREFIX = re.compile(rb"(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?\[\d+\]<std(?:out|err)>:$")
# The beginning of a line that may turn out to be a prefix and a mark.
MAYBE = re.compile(rb"(?:\w{3} \w{3} [ \d]\d [\d:]{8} \d{4})?\[[^\x1e]{0,24}$")


def encode(mark: Mark) -> bytes:
    """One mark as one line."""
    return SIGN + json.dumps(mark, sort_keys=True).encode() + b"\n"


def take_out(line: bytes) -> tuple[bytes, Mark | None]:
    """A whole line without the mark in it, and that mark."""
    before, sign, after = line.partition(SIGN)
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


class Filter:
    """Passes a stream on at once, holding back only what may be a mark, and reports the marks."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        report: Callable[[Mark], None],
        begin: Callable[[bytes], bytes] = lambda piece: piece,
    ) -> None:
        self._write = write
        self._report = report
        # Applied to what begins a line; a rank's prefix is in it as a whole.
        self._begin = begin
        self._held = b""
        self._is_line_start = True

    def feed(self, data: bytes) -> None:
        """Take the next piece of the stream."""
        *lines, last = split_lines(self._held + data)
        self._held = b""
        for line in lines:
            self._pass(line)
            self._is_line_start = True
        if SIGN[:1] in last or (self._is_line_start and MAYBE.match(last)):
            self._held = last
        elif last:
            self._write(self._begin(last) if self._is_line_start else last)
            self._is_line_start = False

    def close(self) -> None:
        """The stream has ended: let go of what is held."""
        self._pass(self._held)
        self._held = b""

    def _pass(self, line: bytes) -> None:
        kept, mark = take_out(line)
        if mark is not None:
            self._report(mark)
        if kept:
            self._write(self._begin(kept) if self._is_line_start else kept)


def split_lines(data: bytes) -> list[bytes]:
    r"""Pieces that each end in \n or \r, and the unended rest (possibly empty) as the last."""
    pieces = re.split(rb"(?<=[\r\n])", data)
    return pieces if pieces else [b""]
