"""Removes terminal control sequences from text of hosts, engines, ranks and file names. Pure.

Sequences that could change the terminal's title, clipboard, cursor, colours or text direction are removed. Readable
text stays."""

from __future__ import annotations

import re

# Control strings (OSC, DCS, SOS, PM, APC) with their content, if they are terminated.
_BEGINS = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"
_ENDS = r"(?:\x07|\x1b\\|\x9c)"
_SEQUENCE = re.compile(
    rf"{_BEGINS}[^\x07\x1b\x90\x98\x9c-\x9f\n]*{_ENDS}"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
)
# Control characters except tab and newline; bidirectional marks; surrogates, which stand for bytes that are
# not valid text and cannot be printed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE = re.compile(f"{_CONTROL.pattern}|{_SURROGATE.pattern}")
# Colours and text styles (SGR). Longer sequences are not colours.
_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,40}m)")


def sanitized(text: str) -> str:
    """Return the text without terminal control sequences. Surrogates, which stand for bytes that are not valid text,
    become U+FFFD (the replacement character)."""
    if not _UNSAFE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", _SEQUENCE.sub("", text)))


def sanitized_with_colours(text: str) -> str:
    """Return the text without control sequences, except for colours, which a rank may use in its output.

    Use the result only as text that rich parses: the colour sequences must not reach the terminal unparsed."""
    pieces = _COLOUR.split(text)
    return "".join(piece if number % 2 else sanitized(piece) for number, piece in enumerate(pieces))
