"""Parses the user's choice from a numbered list: `1,3-4`, `all`, or names. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hvdocker.errors import UsageProblem
from hvdocker.inventory.safe_text import printable

_NUMBER_RANGE = re.compile(r"([0-9]{1,6})(?:\s*-\s*([0-9]{1,6}))?")


def parse_menu_choice(text: str, offered: Sequence[str]) -> list[str]:
    """Return the chosen names in the order in which the user typed them, each once. `text` is what the user typed,
    such as `1,3-4`, `all` or `gpu-a gpu-b`; `offered` are the names of the numbered list, whose first number is 1.

    A word that equals an offered name means that name, even if the word is a number. A word that is neither a name nor
    a number is returned unchanged. Raise UsageProblem for a number that is not in the list. If `offered` is empty,
    every word is returned unchanged."""
    found: dict[str, None] = {}
    for word in re.split(r"[,\s]+", re.sub(r"(?<=[0-9])\s*-\s*(?=[0-9])", "-", text.strip())):
        if word:
            found |= dict.fromkeys(_names_for_word(word, offered))
    return list(found)


def _names_for_word(word: str, offered: Sequence[str]) -> list[str]:
    if word in offered:
        return [word]
    if word.lower() == "all" and offered:
        return list(offered)
    span = _NUMBER_RANGE.fullmatch(word)
    if not span or not offered:
        return [word]
    first, last = int(span[1]), int(span[2] or span[1])
    if not 1 <= first <= last <= len(offered):
        raise UsageProblem(f"{printable(word)} is not in the list: it goes from 1 to {len(offered)}")
    return list(offered[first - 1 : last])
