"""What happens while a verb works, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """`done` and `total` are bytes or steps of something long; `is_end` closes the line it began."""

    stage: str
    text: str
    host: str | None = None
    done: int | None = None
    total: int | None = None
    is_end: bool = False


Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """A listener that listens to nothing."""
