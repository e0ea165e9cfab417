"""Splits a stream of bytes into whole lines, so that several streams can be merged without cutting lines. Pure."""

import re

LINE = re.compile(rb"[^\r\n]*[\r\n]")
# So many bytes without a line end become a line of their own, so that a stream does not fill the memory.
MAX_LINE_BYTES = 1 << 20


class LineCollector:
    """Collects the lines of one stream, and puts `header` before each. A carriage return ends a line too, because it
    ends a state of a progress bar. If more than `most` bytes arrive without a line end, they are made a line."""

    def __init__(self, header: bytes = b"", most: int = MAX_LINE_BYTES) -> None:
        self._header = header
        self._most = most
        self._held: list[bytes] = []
        self._held_bytes = 0

    def feed(self, data: bytes) -> bytes:
        """Process the next piece of the stream. Return the lines that are complete now, each with the header before
        it."""
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        whole = b""
        if end:
            whole = self._with_headers(b"".join([*self._held, data[:end]]))
            self._held, self._held_bytes = [], 0
        if rest := data[end:]:
            self._held.append(rest)
            self._held_bytes += len(rest)
        return whole + self.close() if self._held_bytes > self._most else whole

    def close(self) -> bytes:
        """Process the end of the stream. Return the unfinished line with its header and a newline; empty if there is
        none."""
        rest = b"".join(self._held)
        self._held, self._held_bytes = [], 0
        return self._header + rest + b"\n" if rest else b""

    def _with_headers(self, lines: bytes) -> bytes:
        return LINE.sub(lambda found: self._header + found[0], lines) if self._header else lines
