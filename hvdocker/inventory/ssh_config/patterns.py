"""Patterns of OpenSSH, as in Host lines and IgnoreUnknown. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable


def matches_patterns(patterns: Iterable[str], text: str) -> bool:
    """Return whether one of the patterns matches the whole text and no pattern with `!` in front matches it. Only `*`
    and `?` are special."""
    is_found = False
    for pattern in patterns:
        bare = re.escape(pattern.removeprefix("!")).replace(r"\*", ".*").replace(r"\?", ".")
        if re.fullmatch(bare, text, re.DOTALL):
            if pattern.startswith("!"):
                return False
            is_found = True
    return is_found
