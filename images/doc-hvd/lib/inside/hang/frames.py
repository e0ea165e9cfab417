"""Parses Python stacks, as py-spy and faulthandler print them, into frames. Pure."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

PY_SPY_THREAD = re.compile(r'Thread \S+(?: \([^)]*\))?(?:: "(?P<name>[^"]*)")?')
PY_SPY_FRAME = re.compile(r"\s+(?P<function>\S.*?) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)")
DUMP_THREAD = re.compile(r"(?P<current>Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):")
DUMP_FRAME = re.compile(r'\s+File "(?P<file>[^"]*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)')


@dataclass(frozen=True)
class Frame:
    """One call on a Python stack: the function, its file, and the line that it is at. `line` is 0 if unknown."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} at {PurePosixPath(self.file).name}:{self.line}"


def main_frames(text: str) -> tuple[Frame, ...]:
    """Return the calls of the main thread, innermost first; empty if the text has no stack. `text` is the output of
    py-spy or faulthandler for the processes of one rank, its command first. If several processes have a main thread,
    the first is taken. If no thread is marked as a main thread, the last thread in the text is taken."""
    threads: list[tuple[bool, list[Frame]]] = []
    for line in text.splitlines():
        dumped, spied = DUMP_THREAD.match(line), PY_SPY_THREAD.fullmatch(line)
        frame = DUMP_FRAME.fullmatch(line) or PY_SPY_FRAME.fullmatch(line)
        if dumped or spied:
            is_main = bool(dumped and dumped["current"].startswith("C")) or bool(
                spied and spied["name"] == "MainThread"
            )
            threads.append((is_main, []))
        elif frame and threads:
            threads[-1][1].append(frame_of(frame))
    main = [frames for is_main, frames in threads if is_main and frames]
    # If no thread is marked as the main one, take the oldest: faulthandler prints it last.
    others = [frames for _is_main, frames in threads if frames]
    return tuple((main[:1] or others[-1:] or [[]])[0])


def frame_of(found: "re.Match[str]") -> Frame:
    line = found["line"] or "0"
    return Frame(found["function"].strip(), found["file"], int(line) if line.isdigit() else 0)
