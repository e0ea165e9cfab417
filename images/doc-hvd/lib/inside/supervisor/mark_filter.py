"""Takes the marks (messages of ranks to the supervisor) out of the launcher's output, and forwards the rest."""

from collections.abc import Callable

from hvdocker.protocol.line_header import may_become_header
from hvdocker.protocol.marks import MARK_START, Mark, extract_mark
from inside.launchers.launcher import Launcher
from inside.supervisor.line_splitter import split_lines


class MarkFilter:
    """Forwards a stream to `write` immediately, without its marks (messages of ranks to the supervisor), and passes
    every mark to `report`. Only bytes that may be part of a mark or of a line's header are held back. `launcher`
    replaces its own header of a rank's line by the neutral one. `begin` gets the start of each line and returns what to
    write in its place; by default lines stay as they are."""

    def __init__(
        self,
        write: Callable[[bytes], None],
        report: Callable[[Mark], None],
        launcher: Launcher,
        begin: Callable[[bytes], bytes] = lambda piece: piece,
    ) -> None:
        self._write = write
        self._report = report
        self._launcher = launcher
        # Applied to the start of each line, which contains the whole header of the rank.
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
        if MARK_START[:1] in last or (self._is_line_start and self._may_become_header(last)):
            self._held = last
        elif last:
            self._write(self._begin(self._launcher.neutral_prefix(last)) if self._is_line_start else last)
            self._is_line_start = False

    def close(self) -> None:
        """Process the end of the stream: forward the bytes that were held back."""
        self._pass(self._held)
        self._held = b""

    def _may_become_header(self, piece: bytes) -> bool:
        return may_become_header(piece) or self._launcher.may_become_prefix(piece)

    def _pass(self, line: bytes) -> None:
        kept, mark = extract_mark(self._launcher.neutral_prefix(line) if self._is_line_start else line)
        if mark is not None:
            self._report(mark)
        if kept:
            self._write(self._begin(kept) if self._is_line_start else kept)
