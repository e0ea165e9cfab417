"""The rules of ignore files (`.gitignore`, `.hvdockerignore`), with exactly the meaning that git gives them. Pure.

The last rule that matches a path decides about it. A rule file in a folder takes precedence over those in the folders
above. A rule that begins with `!` takes back what earlier rules ignore. It has no effect on what is in an ignored
folder, because that folder is not entered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hvdocker.sync.wildmatch import wildmatch_regex

_BOM = b"\xef\xbb\xbf"
# A space after a backslash belongs to the pattern.
_WITHOUT_TRAILING_SPACES = re.compile(rb"(?:\\.?|[^\\ ]| +(?! |\Z))*", re.DOTALL)


@dataclass(frozen=True)
class IgnoreRule:
    """One rule of an ignore file. `regex` is matched against the name of a file. With `is_path` it is matched against
    the file's path below the folder to which the rules apply (`RuleFile.folder`) instead.

    `takes_back` means that the rule begins with `!`, so that files that it matches are not ignored. `only_folders`
    means that the rule ends with `/`, so that it matches only folders."""

    regex: bytes
    is_path: bool = False
    takes_back: bool = False
    only_folders: bool = False


def parse_rules(text: bytes) -> list[IgnoreRule]:
    """Return the rules in `text`, the content of an ignore file. Comments, and lines that can match nothing, are left
    out."""
    lines = text.removeprefix(_BOM).split(b"\n")
    rules = (_parse_line(line.removesuffix(b"\r")) for line in lines if not line.startswith(b"#"))
    return [rule for rule in rules if rule]


def _parse_line(line: bytes) -> IgnoreRule | None:
    line = _without_trailing_spaces(line.partition(b"\0")[0])
    takes_back = line.startswith(b"!")
    pattern = line[takes_back:]
    only_folders = pattern.endswith(b"/")
    pattern = pattern.removesuffix(b"/")
    is_path = b"/" in pattern
    regex = wildmatch_regex(pattern.removeprefix(b"/"))
    return IgnoreRule(regex, is_path, takes_back, only_folders) if regex else None


def _without_trailing_spaces(line: bytes) -> bytes:
    found = _WITHOUT_TRAILING_SPACES.match(line)
    return found[0] if found else line


class RuleFile:
    """The rules of one ignore file. They apply to the paths below `folder`, which is a path below the top folder with a
    slash at its end, and empty for the top folder itself. The top folder is that of the git work tree, or the code
    folder if the ignore files of the work tree do not apply (`scope_above`).

    All rules about names are joined into one regular expression, and all rules about paths into another, with the last
    rule first. This saves time, because every `train` compares every file of the code folder with the rules."""

    def __init__(self, rules: Iterable[IgnoreRule], folder: bytes = b"") -> None:
        self._skipped = len(folder)
        numbered = list(enumerate(rules))
        self._takes_back = [rule.takes_back for _, rule in numbered]
        self._file_matchers = tuple(_matchers([(number, rule) for number, rule in numbered if not rule.only_folders]))
        self._folder_matchers = tuple(_matchers(numbered))

    def ignores(self, path: bytes, name: bytes, is_folder: bool) -> bool | None:
        """Return True if the rules ignore the file or folder, False if a rule with `!` takes it back, and None if no
        rule matches. The last matching rule decides. `path` begins at the top folder; `name` is its last part."""
        last = -1
        for is_path, regex, numbers in self._folder_matchers if is_folder else self._file_matchers:
            if found := regex.fullmatch(path, self._skipped) if is_path else regex.fullmatch(name):
                last = max(last, numbers[found.lastindex or 0])
        return None if last < 0 else not self._takes_back[last]


_Matcher = tuple[bool, re.Pattern[bytes], list[int]]


def _matchers(numbered: list[tuple[int, IgnoreRule]]) -> Iterator[_Matcher]:
    """Yield one matcher for the rules about names and one for the rules about paths; a kind without rules gets none.
    `numbered` are the rules with their numbers.

    A matcher is a tuple of three values: whether it is for paths, a regular expression with one group for each rule,
    and a list that maps the number of a group to the number of its rule."""
    for is_path in (False, True):
        chosen = [(number, rule) for number, rule in reversed(numbered) if rule.is_path == is_path]
        if chosen:
            regex = re.compile(b"|".join(b"(" + rule.regex + b")" for _, rule in chosen), re.DOTALL)
            yield is_path, regex, [-1, *(number for number, _ in chosen)]


def is_ignored(files: Iterable[RuleFile], path: bytes, is_folder: bool) -> bool:
    """Return whether the ignore files ignore a path. `files` are their rules in the order of precedence, the highest
    first. The first file that has a matching rule decides. A path that no rule matches is not ignored."""
    name = path.rpartition(b"/")[2]
    for file in files:
        verdict = file.ignores(path, name, is_folder)
        if verdict is not None:
            return verdict
    return False
