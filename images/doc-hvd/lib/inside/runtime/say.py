"""Prints the supervisor's messages to the user."""

import sys
from contextlib import suppress


def say(message: str) -> None:
    """Print one line to stderr, with the prefix `hvdocker: `. Nothing happens if stderr is closed."""
    with suppress(OSError):
        print(f"hvdocker: {message}", file=sys.stderr, flush=True)
