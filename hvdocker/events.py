"""Events that a verb sends while it works; a listener (the console, a test) may show them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """One progress message. `done` and `total` count bytes or steps of long work; `is_end` ends the line
    that earlier events of the same stage and host began. The stage `note` is a message that stays."""

    stage: str
    text: str
    host: str | None = None
    done: int | None = None
    total: int | None = None
    is_end: bool = False


EventListener = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """A listener that ignores all events."""
