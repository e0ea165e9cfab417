"""What the supervisor says to the person."""

import sys
from contextlib import suppress


def say(message: str) -> None:
    """One line; nobody may be there to read it."""
    with suppress(OSError):
        print(f"hvdocker: {message}", file=sys.stderr, flush=True)
