"""Remove horovodrun's own traceback from the output of a failed job. Pure.

That traceback only repeats what the ranks reported. The terminal does not show it; the log keeps every line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hvdocker.protocol.output import Line

_BEGINS = "Traceback (most recent call last):"
_ENDS = "RuntimeError: Horovod detected that one or more processes exited with non-zero status"
_REPEATS = re.compile(
    r"Process name: \d+|Exit code: -?\d+|Process \d+ exit with status code -?\d+\."
    r"|Terminating remaining workers after failure of Process \d+\."
)


# Messages of the supervisor, which writes to the same stream.
_OURS = "hvdocker: "


def without_launcher_traceback(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines without the traceback and summary of horovodrun's own RuntimeError, and without blank lines of
    the launcher.

    A traceback of the launcher that ends in another error than RuntimeError is not removed. Lines of ranks and of
    the supervisor may stand between the lines of the traceback; they are not removed either."""
    held: list[Line] = []
    for line in lines:
        if line.rank is not None or line.text.startswith(_OURS):
            yield line
        elif not line.text.strip() or _REPEATS.fullmatch(line.text.strip()):
            continue
        elif held and line.text.startswith(_ENDS):
            held = []
        elif held and line.text.startswith(" "):
            held.append(line)
        elif line.text == _BEGINS:
            yield from held
            held = [line]
        else:
            yield from held
            held = []
            yield line
    yield from held
