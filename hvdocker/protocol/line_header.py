"""The header of a rank's line in the output of a job, such as `[1]<stdout>:`. Pure.

If a rank does not run on the host that the placement says, the supervisor adds the host: `[1@c]<stdout>:`. Every
launcher gives the lines of ranks this header, or the supervisor translates the launcher's own header into it."""

from __future__ import annotations

import re

# A whole line: the header, the rank, the host (may be missing), the stream, the text.
RANK_LINE = re.compile(rb"(\[(\d+)(?:@([^\]]*))?\]<(stdout|stderr)>:)(.*)", re.DOTALL)
_HEADER_ONLY = re.compile(rb"\[\d+\]<std(?:out|err)>:$")
# The start of a line that may still become a header followed by a mark.
_MAYBE_HEADER = re.compile(rb"\[[^\x1e]{0,24}$")


def line_header(rank: int, is_error: bool = False) -> bytes:
    """Return the header of a rank's line on stdout, or with `is_error` on stderr."""
    return b"[%d]<%s>:" % (rank, b"stderr" if is_error else b"stdout")


def with_host(piece: bytes, host: str) -> bytes:
    """Return `piece`, the start of a line with a header, with `host` added to the header, as in `[1@c]<stdout>:`."""
    before, _, after = piece.partition(b"]")
    return b"%s@%s]%s" % (before, host.encode(), after)


def without_header(piece: bytes) -> bytes:
    """Return `piece` without the line header at its end, or unchanged if there is none. `piece` is the part of a line
    that stands before a mark (a message of a rank's wrapper to the supervisor)."""
    return _HEADER_ONLY.sub(b"", piece)


def may_become_header(piece: bytes) -> bool:
    """Return whether `piece`, the unfinished start of a line, may be a line header or become one: whether it is short
    and begins with `[`."""
    return bool(_MAYBE_HEADER.match(piece))
