"""Marks are one-line JSON messages that ranks send to the supervisor. They go through the output of the rank, mostly
through its stderr, because a launcher may offer no other channel back. The supervisor removes them from the output.
Pure."""

from __future__ import annotations

import json
from typing import Any

from hvdocker.protocol.line_header import without_header

Mark = dict[str, Any]  # Any: JSON
MARK_START = b"\x1ehvdocker "


def encode_mark(mark: Mark) -> bytes:
    """Return a mark (a message to the supervisor), such as {"event": "rank-start", "rank": 0}, as one line of bytes,
    ready to be written to the output of the rank."""
    return MARK_START + json.dumps(mark, sort_keys=True).encode() + b"\n"


def extract_mark(line: bytes) -> tuple[bytes, Mark | None]:
    """Take the mark (a JSON message of a rank) out of a whole line of output. Return the rest of the line, and the
    mark. The line header of the rank that stands before the mark is removed from the rest too. If the line has no valid
    mark, return the line unchanged, and None."""
    before, sign, after = line.partition(MARK_START)
    if not sign:
        return line, None
    try:
        text = after.decode("utf-8", "replace")
        mark, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return line, None
    if not isinstance(mark, dict):
        return line, None
    rest = text[end:].encode() if text[end:].strip() else b""
    kept = without_header(before) + rest
    return (kept if not kept or kept.endswith(b"\n") else kept + b"\n"), mark
