"""Reads the lines of an OpenSSH configuration, with the lines of the files that it includes.

A line that cannot be understood raises UsageProblem with the file and the line number. An unknown keyword raises it
too, unless an earlier IgnoreUnknown line names the keyword."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hvdocker.errors import UsageProblem
from hvdocker.inventory.ssh_config.keywords import is_keyword
from hvdocker.inventory.ssh_config.patterns import matches_patterns

MOST_INCLUDES = 16

_LINE = re.compile(r"(\w+)(?:\s*=\s*|\s+)(.+)")
# The values of these are kept unchanged, with quotes and `#`, because a shell interprets them.
_SHELL_COMMAND_KEYWORDS = ("proxycommand", "localcommand", "remotecommand", "knownhostscommand")
_CRITERIA_WITHOUT_VALUE = ("all", "canonical", "final")


@dataclass(frozen=True)
class Criterion:
    """One condition of a Match line, such as `user kim`.

    `kind` is the first word, in lower case. `value` is the text after it, empty for a kind without a value, such as
    `all`. `is_negated` means that `!` is in front of the condition."""

    kind: str
    value: str = ""
    is_negated: bool = False


@dataclass(frozen=True)
class SshConfigLine:
    """One setting: its keyword in lower case, its arguments, and in `value` the arguments joined as one text.

    For an Include, `files` has the lines of each included file. For a Match, `criteria` has its conditions. For
    a shell command such as ProxyCommand, `arguments` is empty and `value` is the unchanged text."""

    keyword: str
    arguments: tuple[str, ...]
    value: str
    files: tuple[tuple[SshConfigLine, ...], ...] = ()
    criteria: tuple[Criterion, ...] = ()


@dataclass(frozen=True)
class SshConfigSource:
    """Reads the files of one configuration. Relative paths in Include lines start from the folder `base`.

    `home` is the folder that `~` means in Include paths. It is None for the system's file, in which Include
    paths with `~` are skipped. `ignored` has the patterns of the IgnoreUnknown lines that were read so far. OpenSSH
    uses only those that apply to the host; here all count, because the file is read once for all hosts."""

    base: Path
    home: Path | None = None
    ignored: list[str] = field(default_factory=list)

    def read(self, path: Path, above: tuple[Path, ...] = ()) -> tuple[SshConfigLine, ...]:
        """Return the lines of a file, with those of the files that it includes.

        `above` are the files through which this file is included. Return no lines if the file is missing, includes
        itself (is one of `above`) or is nested too deep."""
        if path in above or len(above) > MOST_INCLUDES:
            return ()
        return self.parse(_text(path), path, above)

    def parse(self, text: str, path: Path, above: tuple[Path, ...] = ()) -> tuple[SshConfigLine, ...]:
        """Return the same as `read` for a file whose text is already read, such as a pipe. `path` names the file in
        errors."""
        return tuple(self._lines(text, path, above))

    def _lines(self, text: str, path: Path, above: tuple[Path, ...]) -> Iterator[SshConfigLine]:
        for number, line_text in enumerate(text.split("\n"), 1):
            bare = line_text.strip()
            if not bare or bare.startswith("#"):
                continue
            try:
                line = self._line(bare)
            except ValueError as error:
                raise UsageProblem(
                    f"{path} line {number} cannot be understood: {error}",
                    lines=[bare],
                    fix="mend that line; what ssh makes of the file: ssh -G host",
                ) from error
            if line is None:
                continue
            if line.keyword == "include":
                files = tuple(self.read(found, (*above, path)) for found in self._included(line.arguments))
                line = SshConfigLine(line.keyword, line.arguments, line.value, files)
            yield line

    def _line(self, text: str) -> SshConfigLine | None:
        """Return the setting in a line, or None for an unknown keyword that an IgnoreUnknown line names.

        Raise ValueError for any other unknown keyword and for a line that cannot be understood."""
        line = _line(text)
        if not is_keyword(line.keyword):
            if matches_patterns(self.ignored, line.keyword):
                return None
            raise ValueError(f"ssh knows no keyword {text[: len(line.keyword)]}")
        if line.keyword == "ignoreunknown":
            self.ignored.extend(line.value.lower().split(","))
        return line

    def _included(self, patterns: tuple[str, ...]) -> Iterator[Path]:
        """Yield the existing files that the patterns of an Include line match, sorted for each pattern.

        Patterns that begin with `~/` are skipped if `home` is None. Patterns that begin with `~user` are always
        skipped."""
        for pattern in patterns:
            if pattern.startswith("~"):
                if self.home is None or not pattern.startswith("~/"):
                    continue
                path = self.home / pattern[2:]
            else:
                path = self.base / pattern
            if path.parts[1:]:
                yield from sorted(Path(path.anchor).glob("/".join(path.parts[1:])))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror or error}") from error


def _line(text: str) -> SshConfigLine:
    found = _LINE.fullmatch(text)
    if not found:
        raise ValueError("a setting and its value are expected")
    word = found[1].lower()
    if word in _SHELL_COMMAND_KEYWORDS:
        return SshConfigLine(word, (), found[2])
    words = tuple(_until_comment(shlex.split(found[2])))
    if not words:
        raise ValueError(f"{found[1]} has no value")
    if word == "port" and not words[0].isdecimal():
        raise ValueError(f"{words[0]} is no port")
    criteria = tuple(_criteria(list(words))) if word == "match" else ()
    return SshConfigLine(word, words, " ".join(words), criteria=criteria)


def _until_comment(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("#"):
            return
        yield word


def _criteria(words: list[str]) -> Iterator[Criterion]:
    while words:
        kind, equals, value = words.pop(0).partition("=")
        is_negated, kind = kind.startswith("!"), kind.removeprefix("!").lower()
        if kind not in _CRITERIA_WITHOUT_VALUE and not equals:
            if not words:
                raise ValueError(f"Match {kind} has no value")
            value = words.pop(0)
        yield Criterion(kind, value, is_negated)
