"""Splits the output of the launcher into lines of ranks and lines of the launcher itself."""

import re
from collections.abc import Callable

from hvdocker.protocol.line_header import RANK_LINE

# The rest of a longer line is discarded.
MAX_LINE_BYTES = 1 << 15


class LineSplitter:
    """Splits one stream (stdout or stderr) of the launcher into lines. `on_rank_line` is called for each line of a
    rank, with the rank and the text without its header. `on_line` is called with every other line. The part of a line
    beyond MAX_LINE_BYTES is discarded."""

    def __init__(
        self, on_rank_line: Callable[[int, str], None], on_line: Callable[[str], None] = lambda line: None
    ) -> None:
        self._on_rank_line = on_rank_line
        self._on_line = on_line
        self._begun = b""

    def feed(self, data: bytes) -> None:
        """Process the next piece of the stream, and pass on every line that is complete now. A piece may begin and end
        anywhere in a line."""
        *ended, last = split_lines(data)
        for line in ended:
            self._tell(self._begun + line)
            self._begun = b""
        self._begun = (self._begun + last)[:MAX_LINE_BYTES]

    def close(self) -> None:
        """Process the end of the stream: pass on the last line, which may lack its newline."""
        self._tell(self._begun)
        self._begun = b""

    def _tell(self, line: bytes) -> None:
        found = RANK_LINE.fullmatch(line)
        text = (found[5] if found else line)[:MAX_LINE_BYTES].decode("utf-8", "replace").rstrip("\r\n")
        if found:
            self._on_rank_line(int(found[2]), text)
        else:
            self._on_line(text)


def split_lines(data: bytes) -> list[bytes]:
    r"""Split `data` into pieces that each end in \n or \r. The last piece is the unfinished rest, possibly empty."""
    pieces = re.split(rb"(?<=[\r\n])", data)
    return pieces if pieces else [b""]
