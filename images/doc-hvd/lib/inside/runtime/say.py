"""Messages of the supervisor to the user."""

import sys
from contextlib import suppress


def say(message: str) -> None:
    """Print one line to stderr. It is ignored if the stream is closed."""
    with suppress(OSError):
        print(f"hvdocker: {message}", file=sys.stderr, flush=True)
