"""Prepares this process, so that hvdocker also works with closed standard streams, in a locale without Unicode, and for
a user without an entry in passwd."""

from __future__ import annotations

import codecs
import getpass
import io
import os
import sys
from pathlib import Path

# Characters of our own output for terminals and files whose encoding lacks them.
_PLAIN = {"│": "|", "→": "->", "…": "...", "·": "-", "✓": "+", "━": "#", "╌": "-", "×": "x", "–": "-", "—": "-"}
_ERRORS = "hvdocker-plain"


def set_up_process() -> None:
    """Prepare this process for unusual surroundings.

    Closed standard streams are opened. Characters that the encoding of stdout or stderr lacks are replaced. USER and
    HOME are set if the user has no name or home folder."""
    _open_closed_streams()
    codecs.register_error(_ERRORS, _plain_characters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)
    _name_user()


def _open_closed_streams() -> None:
    """Open /dev/null for each standard stream that is closed. Otherwise the next file or connection that is opened
    would get the stream's descriptor number, and messages would be written into it."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # The kernel gives the lowest free number, which is this one.
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _name_user() -> None:
    """Set USER and HOME for a user who is not in passwd, such as the user in a container after `docker run --user
    1234`. Without them, Python's getpass and Path.home fail, also in libraries."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = f"uid-{os.getuid()}"
    try:
        Path.home()
    except RuntimeError:
        # An engine sets the same value in a container whose user is not in passwd.
        os.environ["HOME"] = "/"


def _plain_characters(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return the replacement for a character that an encoding lacks, and the position after the character.

    This is an error handler for `codecs`. Characters of hvdocker's own messages become a similar character, others a
    question mark. A surrogate stands for a byte of a file name or an argument, and becomes that byte."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]), error.start + 1
    return _PLAIN.get(letter, "?"), error.start + 1
