"""Functions about hvdocker's own process: one checks whether $HOME is the user's home folder, the other replaces the
process by another program."""

from __future__ import annotations

import os
import pwd
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


def home_override() -> Path | None:
    """Return the folder in $HOME if it differs from the user's home in passwd. Return None if they are equal or the
    user is not in passwd. If they differ, hvdocker uses $HOME, but the ssh program uses the home in passwd."""
    try:
        listed = Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None
    return None if Path.home() == listed else Path.home()


def exec_program(words: Sequence[str]) -> NoReturn:
    """Replace this process by another program. `words` are the program and its arguments, such as ("ssh", "gpu-a").
    Raise FileNotFoundError if there is no such program."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores SIGPIPE, and the new program would inherit that.
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(words[0], list(words))
    finally:
        # Reached only if the program could not be executed.
        signal.signal(signal.SIGPIPE, before)
