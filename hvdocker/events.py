"""Events report the progress of a verb to a listener, such as the console or a test. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """One progress message: `text`, for the user.

    `stage` names the kind of work, such as `connect` or `code`. The stage `note` is for messages that stay on the
    screen. `host` is the host of the work, None if it concerns no single host. `done` and `total` count the bytes or
    steps of long work. `is_end` says that the work of this stage on this host is over, so that its progress line can be
    removed."""

    stage: str
    text: str
    host: str | None = None
    done: int | None = None
    total: int | None = None
    is_end: bool = False


EventListener = Callable[[Event], None]


def ignore_events(event: Event) -> None:
    """Ignore the event. This is the listener for callers that show no progress."""
