"""Split a git patch into one part for each file. Pure: opens nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BEGIN = b"diff --git "
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


@dataclass(frozen=True)
class FilePatch:
    """The part of a git patch for one file. `text` is that part as git wrote it. `added` and `removed` count lines;
    both are 0 for a binary file."""

    path: str
    text: bytes
    added: int = 0
    removed: int = 0
    is_binary: bool = False

    def counts(self) -> str:
        """Return the numbers of added and removed lines as text, like `+3 -1`; `binary` for a binary file."""
        return "binary" if self.is_binary else f"+{self.added} -{self.removed}"


def split_by_file(patch: bytes) -> dict[str, FilePatch]:
    """Split a git patch into one part for each file, and return the parts by path. The caller has to make the patch
    with `--no-renames`, so that each part names one file only. Text before the first file is left out."""
    found: dict[str, FilePatch] = {}
    section: list[bytes] = []
    for line in [*patch.splitlines(keepends=True), _BEGIN]:
        if line.startswith(_BEGIN):
            if section:
                one = _file(section)
                found[one.path] = one
            section = [line]
        elif section:
            section.append(line)
    return found


def _file(lines: list[bytes]) -> FilePatch:
    path = _path(lines[0][len(_BEGIN) :].rstrip(b"\n"))
    is_binary = any(line.startswith(b"GIT binary patch") for line in lines)
    start = next((number for number, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    body = [] if is_binary else lines[start:]
    added, removed = (sum(line.startswith(mark) for line in body) for mark in (b"+", b"-"))
    return FilePatch(path, b"".join(lines), added, removed, is_binary)


def _path(header: bytes) -> str:
    """Return the path in a `diff --git` line. `header` is the rest of that line, `a/PATH b/PATH`, in which both
    paths are equal. Git quotes and escapes unusual names."""
    first = header[: len(header) // 2]
    if first.startswith(b'"'):
        first = _ESCAPED.sub(_unescaped, first.strip(b'"'))
    return first[2:].decode("utf-8", "surrogateescape")


def _unescaped(found: re.Match[bytes]) -> bytes:
    word = found[1]
    return bytes([int(word, 8) & 0xFF]) if len(word) == 3 else _LETTERS.get(word, word)
