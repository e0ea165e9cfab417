"""This machine's own process: another program in its place, and its home."""

from __future__ import annotations

import os
import pwd
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


def moved_home() -> Path | None:
    """The home that $HOME names, where OpenSSH's client looks at another: it goes by the user's own entry."""
    try:
        listed = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None
    return None if Path.home() == listed else Path.home()


def exec_program(words: Sequence[str]) -> NoReturn:
    """Raises FileNotFoundError where there is no such program."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores it, and what is ignored is handed on.
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(words[0], list(words))
    finally:
        # It did not become that program.
        signal.signal(signal.SIGPIPE, before)
