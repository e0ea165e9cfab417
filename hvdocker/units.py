"""Parses and formats sizes and durations. Pure."""

from __future__ import annotations

import re

MIB = 1 << 20
# A smaller size without a unit is taken for a forgotten unit.
LEAST_WITHOUT_UNIT = 16 * MIB
# A number from here on was hardly meant as megabytes.
_LEAST_AS_BYTES = 1_000_000

_UNITS = {"": 1, "B": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
SIZE = r"[ ]*([0-9]{1,18}(?:\.[0-9]{1,18})?)[ ]*([KkMmGgTt]?)(?:[Ii]?[Bb])?[ ]*"
_TIME_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TIME_PATTERN = r"[ ]*([0-9]{1,9}(?:\.[0-9]{1,9})?)[ ]*([smhd]?)[ ]*"
# The largest size that an engine accepts.
_MAX_BYTES = 2**63 - 1

GIB = 1024**3


def parse_bytes(text: str) -> int | None:
    """Parse `16GB`, `512m`, `1.5 GiB` or a number without a unit into bytes. All units are powers of 1024.

    Return None if the text is invalid or the size does not fit in 63 bits."""
    found = re.fullmatch(SIZE, text)
    if not found:
        return None
    size = int(float(found[1]) * _UNITS[found[2].upper()])
    return size if size <= _MAX_BYTES else None


def forgotten_unit(text: str, example: str) -> str | None:
    """Return the problem of a size without a unit that is above 0 and below LEAST_WITHOUT_UNIT, such as `16`, else
    None. Nobody means so few bytes: the unit was forgotten. `example` is a usual value, such as 500MB.

    The problem repeats a short number with the units that may be meant. That is MB only if the example has MB."""
    number = text.strip(" ")
    found = re.fullmatch(r"[0-9]{1,18}(?:\.[0-9]{1,18})?", number)
    if not found or not 0 < float(number) < LEAST_WITHOUT_UNIT:
        return None
    if float(number) >= _LEAST_AS_BYTES:
        return f"{number} means bytes, which is {show_bytes(float(number))}; write a unit, such as {example}"
    units = ("MB",) if example.endswith("MB") else ("GB", "MB")
    return f"{number} bytes? write {' or '.join(f'{number}{unit}' for unit in units)}"


def exact_size(count: int) -> str:
    """Return a number of bytes as text that `parse_bytes` reads, such as `16GB`.

    The unit is the largest that gives a whole number."""
    for unit in "TGMK":
        if count and count % _UNITS[unit] == 0:
            return f"{count // _UNITS[unit]}{unit}B"
    return f"{count}B"


def parse_seconds(text: str) -> float | None:
    """Parse `90`, `90s`, `10m`, `1.5h` or `2d` into seconds. Return None if the text is invalid."""
    found = re.fullmatch(_TIME_PATTERN, text)
    return float(found[1]) * _TIME_UNITS[found[2]] if found else None


def show_bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"


def show_seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def pluralize(number: int, noun: str) -> str:
    """Return the number with the noun, such as `1 host` or `3 hosts`: the noun gets an `s` unless the number is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
