"""Text of others on this terminal: hosts, engines, ranks, files' names. Whatever could steer it (title,
clipboard, cursor, colours, the order of letters) is taken out; what can be read stays."""

from __future__ import annotations

import re

# Strings for the terminal (OSC, DCS, SOS, PM, APC) with their content, as long as they have an end.
_BEGINS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"
_ENDS = r"(?:\x07|\x1b\\|\x9c)"
_SEQUENCE = re.compile(
    rf"{_BEGINS}[^\x07\x1b\x90\x98\x9c-\x9f\n]*{_ENDS}"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
# Control characters but tab and newline; marks that turn the order of letters round; halves of characters,
# which stand for bytes that are no text and cannot be printed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_HALF = re.compile("[\ud800-\udfff]")
_ANY = re.compile(f"{_CONTROL.pattern}|{_HALF.pattern}")
# Colours and the like. Long ones are no colours.
_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,40}m)")


def sanitized(text: str) -> str:
    """The same text where there is nothing to take out, which is nearly always."""
    if not _ANY.search(text):
        return text
    return _HALF.sub("\ufffd", _CONTROL.sub("", _SEQUENCE.sub("", text)))


def coloured(text: str) -> str:
    """Harmless, but with its colours: a rank may print in red. Rich reads them, not the terminal."""
    pieces = _COLOUR.split(text)
    return "".join(piece if number % 2 else sanitized(piece) for number, piece in enumerate(pieces))
