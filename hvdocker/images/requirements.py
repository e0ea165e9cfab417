"""Parses a requirements file, and the files that it includes, into a `Requirements` value.

Equal requirements on the same image have equal keys, so an image that has them already is found by its key.
Pure: the caller passes the functions that read files and list wheels."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

from hvdocker.errors import UsageProblem


@dataclass(frozen=True)
class Wheel:
    """A package file in a local folder that the requirements name with --find-links. `path` is its path on the
    controller, `digest` a hash of its content."""

    path: str
    digest: str

    @property
    def name(self) -> str:
        return PurePath(self.path).name


ReadFile = Callable[[PurePath], str]
ListWheels = Callable[[PurePath], Iterable[Wheel]]

_COMMENT = re.compile(r"(^|\s+)#.*$")
_INCLUDE = re.compile(r"(-r|--requirement|-c|--constraint)(?:\s*=\s*|\s+|(?<=-[rc]))(\S.*)")
_ALLOWED_OPTION = re.compile(
    r"(-i|--(index-url|extra-index-url|no-index|pre|prefer-binary|only-binary|no-binary|trusted-host"
    r"|require-hashes|use-feature)|-f|--find-links)\b"
)
_FIND_LINKS = re.compile(r"(?:-f|--find-links)(?:\s*=\s*|\s+)((?!.*://)\S.*)")
_ARCHIVE = re.compile(r".*\.(whl|zip|tgz|tar\.\w+)")
_URL_CREDENTIALS = re.compile(r"://[^/\s@]+@")
_VARIABLE = re.compile(r"\$\{\w+\}")
_KEY_LENGTH = 16


@dataclass(frozen=True)
class Requirements:
    """The requirements that pip installs on an image.

    `source` is the path of the requirements file, for messages; it is not part of the key. `lines` are the requirements
    and pip options, `constraints` the lines of files included with `-c`. `wheels` are the package files of all
    --find-links folders."""

    source: str
    lines: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    wheels: tuple[Wheel, ...] = ()

    def key(self, base: str) -> str:
        """Return a short hash of these requirements and of `base`, the content hash of the image that they are
        installed on. Equal keys mean that an existing image can be used instead of a new build."""
        wheels = sorted((wheel.name, wheel.digest) for wheel in self.wheels)
        asked = json.dumps([base, self.lines, self.constraints, wheels], ensure_ascii=False)
        return hashlib.sha256(asked.encode()).hexdigest()[:_KEY_LENGTH]


@dataclass
class _RequirementsReader:
    read: ReadFile
    lines: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    folders: list[PurePath] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    open_files: tuple[PurePath, ...] = ()


def parse_requirements(path: PurePath, read: ReadFile, wheels_in: ListWheels) -> Requirements | None:
    """Parse the requirements file and the files that it includes. Return None if it has no line for pip.

    `read` returns the text of a file, and `wheels_in` the package files of a --find-links folder. If lines cannot
    become part of an image (an editable package, a local path), raise one UsageProblem that lists all of them."""
    reading = _RequirementsReader(read)
    _read_file(path, reading, reading.lines)
    if reading.problems:
        count = len(reading.problems)
        raise UsageProblem(
            f"{path} has {count} {'line' if count == 1 else 'lines'} that cannot become part of an image",
            lines=reading.problems,
            fix="correct the file, name another with --requirements, or leave it out: --no-requirements",
        )
    if not reading.lines:
        return None
    wheels = {wheel.name: wheel for folder in reading.folders for wheel in wheels_in(folder)}
    return Requirements(str(path), tuple(reading.lines), tuple(reading.constraints), tuple(wheels.values()))


def _read_file(path: PurePath, reading: _RequirementsReader, target: list[str]) -> None:
    """Append the lines of the file, and of the files that it includes with `-r`, to `target`.

    Lines of files that it includes with `-c` go to `reading.constraints`, --find-links folders to `reading.folders`,
    and messages about bad lines to `reading.problems`."""
    before = reading.open_files
    reading.open_files = (*before, path)
    for number, line in _logical_lines(reading.read(path)):
        included = _INCLUDE.fullmatch(line)
        problem = _problem_of_line(line, included, path, reading.open_files)
        if problem:
            reading.problems.append(f"{path.name}:{number}: {problem}: {_URL_CREDENTIALS.sub('://…@', line)}")
        elif included:
            is_constraint = included[1] in ("-c", "--constraint")
            _read_file(_resolve_path(path, included[2]), reading, reading.constraints if is_constraint else target)
        elif folder := _FIND_LINKS.fullmatch(line):
            reading.folders.append(_resolve_path(path, folder[1]))
        else:
            target.append(line)
    reading.open_files = before


def _resolve_path(path: PurePath, other: str) -> PurePath:
    return type(path)(posixpath.normpath(str(path.parent / other)))


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines as pip reads them, each with its number in the file.

    Lines that end with a backslash are joined with the next one. Comments and empty lines are dropped."""
    found: list[tuple[int, str]] = []
    start, parts = 1, list[str]()
    for number, raw in enumerate([*text.removeprefix("\ufeff").splitlines(), ""], 1):
        start = start if parts else number
        is_comment = raw.lstrip().startswith("#")
        if raw.endswith("\\") and not is_comment:
            parts.append(raw[:-1].strip())
            continue
        line = " ".join([*parts, raw])
        parts = []
        line = " ".join(_COMMENT.sub("", line).split())
        if line:
            found.append((start, line))
    return found


def _problem_of_line(
    line: str, included: re.Match[str] | None, path: PurePath, reading: tuple[PurePath, ...]
) -> str | None:
    """Return why the line cannot become part of an image, as text for the user. Return None if it can.

    `path` is the file of the line. `included` is the match of a line that includes another file, None for other lines.
    `reading` are the files that are being read, which shows whether a file includes itself."""
    if _URL_CREDENTIALS.search(line):
        return "a user or token in an address would stand in plans and scripts"
    if _VARIABLE.search(line):
        return "variables are not known where the image is built"
    if included:
        if "://" in included[2]:
            return "only files of this machine can be included"
        return "it includes itself" if _resolve_path(path, included[2]) in reading else None
    if re.match(r"(-e|--editable)\b", line):
        return "an editable package is not in the image; code beside the script is synced anyway"
    if line.startswith("-"):
        return None if _ALLOWED_OPTION.match(line) else "pip's option is not passed on"
    return "a path of this machine is not there where the image is built" if _is_path(line) else None


def _is_path(line: str) -> bool:
    """Return whether the requirement in `line` is a local path or file, such as `./pkg` or `a.whl`. Pip would look for
    it on the disk."""
    target = re.split(r"[\s;]", line.rpartition("@ ")[2])[0]
    if "://" in target:
        return target.startswith("file:")
    return "/" in target or "\\" in target or set(target) == {"."} or bool(_ARCHIVE.fullmatch(target))
