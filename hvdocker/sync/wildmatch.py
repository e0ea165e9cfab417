"""Translates the glob patterns of ignore files into regular expressions that match what git matches. Pure.

The translation follows wildmatch.c and dir.c of git, with its oddities. Patterns and paths are bytes, as in git: `?`
matches one byte, which may be a part of a letter."""

from __future__ import annotations

import re

_SPECIAL = re.compile(rb"[*?\[\\]")
_ALL_BYTES = frozenset(range(256))
_SLASH = ord("/")


def _ascii(test: str) -> frozenset[int]:
    return frozenset(code for code in range(128) if re.fullmatch(test, chr(code)))


_CLASSES = {
    b"alnum": _ascii("[A-Za-z0-9]"),
    b"alpha": _ascii("[A-Za-z]"),
    b"blank": _ascii("[ \t]"),
    b"cntrl": _ascii("[\x00-\x1f\x7f]"),
    b"digit": _ascii("[0-9]"),
    b"graph": _ascii("[\x21-\x7e]"),
    b"lower": _ascii("[a-z]"),
    b"print": _ascii("[\x20-\x7e]"),
    b"punct": _ascii("[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]"),
    b"space": _ascii("[ \t\n\r\v\f]"),
    b"upper": _ascii("[A-Z]"),
    b"xdigit": _ascii("[0-9A-Fa-f]"),
}


class _MatchesNothing(Exception):
    """The pattern can match nothing: it is malformed (an unclosed bracket, for example), or it has a bracket that names
    only the slash (`[/]`), which a bracket never matches. Git never matches such a pattern."""


def wildmatch_regex(pattern: bytes) -> bytes | None:
    """Return a regular expression that matches what the glob pattern of an ignore file matches. It is for `fullmatch`,
    and to be compiled with DOTALL. Return None if the pattern can match nothing, such as `[a` or `[/]`."""
    first_special = _SPECIAL.search(pattern)
    plain = first_special.start() if first_special else len(pattern)
    parts = [re.escape(pattern[:plain])]
    at = plain
    try:
        while at < len(pattern):
            part, at = _next_part(pattern, at, plain)
            parts.append(part)
    except _MatchesNothing:
        return None
    return b"".join(parts)


def _next_part(pattern: bytes, at: int, plain: int) -> tuple[bytes, int]:
    """Translate the part of the pattern that begins at `at` (a wildcard or one character) into a regular expression.
    Return the expression, and the position of the next part. `plain` is the length of the text in front of the first
    wildcard."""
    char = pattern[at : at + 1]
    if char == b"*":
        return _stars(pattern, at, plain)
    if char == b"?":
        return b"[^/]", at + 1
    if char == b"[":
        return _bracket(pattern, at + 1)
    if char == b"\\":
        at += 1
        if at == len(pattern):
            raise _MatchesNothing
        char = pattern[at : at + 1]
    return re.escape(char), at + 1


def _stars(pattern: bytes, start: int, plain: int) -> tuple[bytes, int]:
    """Translate the run of stars that begins at `start`. Return the regular expression, and the position of the next
    part. Two or more stars match slashes too if they stand alone: on each side is a slash, or an end of the pattern.

    Git compares the text in front of the first wildcard (`plain` is its length) separately. It then treats the first
    wildcard as the start of the pattern. So in `a**/b` the stars stand alone too."""
    end = start
    while pattern[end : end + 1] == b"*":
        end += 1
    stands_alone = start == plain or pattern[start - 1] == _SLASH
    if end - start == 1 or not stands_alone:
        return b"[^/]*", end
    if pattern[end : end + 1] == b"/":
        return b"(?:.*/)?", end + 1
    is_bounded = end == len(pattern) or pattern[end : end + 2] == b"\\/"
    return (b".*" if is_bounded else b"[^/]*"), end


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int]:
    """Translate a bracket expression of `pattern`, such as `[!a-z]`. `at` is the position after the opening bracket.
    Return the regular expression, and the position of the next part.

    Raise _MatchesNothing if the bracket is not closed, has an unknown class, or matches no character. A bracket never
    matches a slash."""
    is_negated = pattern[at : at + 1] in (b"!", b"^")
    at += is_negated
    found, at = _bracket_bytes(pattern, at)
    chosen = sorted((_ALL_BYTES - found if is_negated else found) - {_SLASH})
    if not chosen:
        raise _MatchesNothing
    return b"[" + b"".join(b"\\x%02x" % code for code in chosen) + b"]", at


def _bracket_bytes(pattern: bytes, at: int) -> tuple[set[int], int]:
    """Return the bytes that a bracket expression of `pattern` names, and the position after its closing bracket.
    `at` is where its content begins, after `[`, `[!` or `[^`. A closing bracket that comes first is an ordinary
    character."""
    found: set[int] = set()
    before: int | None = None  # the start of a range, if a hyphen follows
    is_first = True
    while is_first or pattern[at : at + 1] != b"]":
        is_first = False
        if pattern[at : at + 2] == b"[:" and (named := _named_class(pattern, at)) is not None:
            members, at = named
            found |= members
            before = None
            continue
        is_range = before is not None and pattern[at : at + 1] == b"-" and pattern[at + 1 : at + 2] not in (b"", b"]")
        code, at = _bracket_char(pattern, at + is_range)
        if is_range and before is not None:
            found.update(range(before, code + 1))
            before = None
        else:
            found.add(code)
            before = code
    return found, at + 1


def _bracket_char(pattern: bytes, at: int) -> tuple[int, int]:
    at += pattern[at : at + 1] == b"\\"
    if at >= len(pattern):
        raise _MatchesNothing
    return pattern[at], at + 1


def _named_class(pattern: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """Return the bytes in a class such as `[:alpha:]` at the position `at` of `pattern`, and the position after it.
    Return None if the text is not of that form, so that its characters stand for themselves. Raise _MatchesNothing for
    an unknown class, and if no closing bracket follows."""
    end = pattern.find(b"]", at + 2)
    if end < 0:
        raise _MatchesNothing
    if end - (at + 2) < 1 or pattern[end - 1 : end] != b":":
        return None
    members = _CLASSES.get(pattern[at + 2 : end - 1])
    if members is None:
        raise _MatchesNothing
    return members, end + 1
