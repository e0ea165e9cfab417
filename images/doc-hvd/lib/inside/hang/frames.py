"""Parses Python stacks, as py-spy and faulthandler print them, into frames. Pure."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

# The line that the program `stacks` prints above the stacks of each process.
PROCESS_TITLE = re.compile(r"^process \d+\b.*$", re.MULTILINE)
PY_SPY_THREAD = re.compile(r'Thread \S+(?: \([^)]*\))?(?:: "(?P<name>[^"]*)")?')
PY_SPY_FRAME = re.compile(r"\s+(?P<function>\S.*?) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)")
DUMP_THREAD = re.compile(r"(?P<current>Current thread|Thread) 0x[0-9a-f]+.*\(most recent call first\):")
DUMP_FRAME = re.compile(r'\s+File "(?P<file>[^"]*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)')


@dataclass(frozen=True)
class Frame:
    """One call on a Python stack: the function, its file, and the line that runs now. `line` is 0 if unknown."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.function} at {PurePosixPath(self.file).name}:{self.line}"


def main_frames(text: str) -> tuple[Frame, ...]:
    """Return the calls of the main thread of a rank, innermost first; empty if the text has no stack. `text` is the
    output of py-spy or faulthandler for all processes of the rank, its command first. The calls are those of the first
    process that has a stack."""
    stacks = map(main_frames_of_process, PROCESS_TITLE.split(text))
    return next((frames for frames in stacks if frames), ())


def main_frames_of_process(text: str) -> tuple[Frame, ...]:
    """Return the calls of the main thread of one process, innermost first. `text` is the output of py-spy or
    faulthandler for this process. If no thread is marked as the main thread, return the calls of the oldest thread. The
    mark may be missing because py-spy may not find the names of threads. faulthandler marks the thread that got the
    signal, which may not be a Python thread."""
    threads: list[tuple[bool, list[Frame]]] = []  # the oldest first
    frames: list[Frame] = []
    for line in text.splitlines():
        if spied := PY_SPY_THREAD.fullmatch(line):
            frames = []
            threads.append((spied["name"] == "MainThread", frames))
        elif dumped := DUMP_THREAD.match(line):
            frames = []
            # Unlike py-spy, faulthandler prints the oldest thread last.
            threads.insert(0, (dumped["current"] == "Current thread", frames))
        elif frame := DUMP_FRAME.fullmatch(line) or PY_SPY_FRAME.fullmatch(line):
            frames.append(frame_of(frame))
    with_frames = [thread for thread in threads if thread[1]]
    _is_main, found = min(with_frames, key=lambda thread: not thread[0], default=(False, []))
    return tuple(found)


def frame_of(found: "re.Match[str]") -> Frame:
    line = found["line"] or "0"
    return Frame(found["function"].strip(), found["file"], int(line) if line.isdigit() else 0)
