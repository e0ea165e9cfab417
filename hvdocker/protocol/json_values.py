"""Read values from JSON that another program wrote: a value of the wrong type becomes a default, such as None or an
empty list. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def mapping(value: object) -> Mapping[str, Any]:  # Any: JSON
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[Mapping[str, Any]]:  # Any: as above
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
