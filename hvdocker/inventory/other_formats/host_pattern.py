"""Reads a host as files of other tools spell it: `gpu-a`, `gpu-a:2222`, `[fd00::1]:22`, and ranges such as
`gpu[01:10]` or `gpu[01-03,07]`. Pure."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterator

MOST_HOSTS = 10_000

_PART = r"[0-9]{1,6}(?:[:-][0-9]{1,6}(?::[0-9]{1,6})?)?|[A-Za-z][:-][A-Za-z]"
_RANGE = re.compile(rf"\[((?:{_PART})(?:,(?:{_PART}))*)\]")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_PORT = re.compile(r"(.+?)(?::([0-9]{1,5}))?")
_ADDRESS = re.compile(r"\[([0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?)\](?::([0-9]{1,5}))?")


def split_number(text: str) -> tuple[str, str] | None:
    """Split `gpu-a:22` into the host, or range of hosts, and the number, which is empty if there is none. Return None
    if the text is no host."""
    if _is_ipv6(text):
        return text, ""
    if (found := _ADDRESS.fullmatch(text)) and _is_ipv6(found[1]):
        return found[1], found[2] or ""
    found = _PORT.fullmatch(text)
    if found and _NAME.fullmatch(_RANGE.sub("0", found[1])):
        return found[1], found[2] or ""
    return None


def expand(pattern: str, most: int = MOST_HOSTS) -> list[str]:
    """Return the hosts of a range: `gpu[01:03]` is gpu01, gpu02, gpu03. At most `most` are returned."""
    # Text between ranges, and the inside of ranges, in turn.
    parts = _RANGE.split(pattern)
    choices = [list(itertools.islice(_values(part), most)) if index % 2 else [part] for index, part in enumerate(parts)]
    return ["".join(words) for words in itertools.islice(itertools.product(*choices), most)]


def _values(text: str) -> Iterator[str]:
    for part in text.split(","):
        first, *rest = re.split("[:-]", part)
        last, step = rest[0] if rest else first, int(rest[1]) if rest[1:] else 1
        if first.isdecimal():
            width = len(first)
            yield from (f"{number:0{width}}" for number in range(int(first), int(last) + 1, step or 1))
        else:
            yield from map(chr, range(ord(first), ord(last) + 1))


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False
