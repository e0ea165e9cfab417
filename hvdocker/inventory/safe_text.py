"""Makes any text safe to write into a message, a YAML comment or a YAML value. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

_PLAIN = re.compile(r"[A-Za-z0-9_/.~][A-Za-z0-9_/.~@+-]*(?::[A-Za-z0-9_/.~@+-]+)*")
_TEXT_TAG = "tag:yaml.org,2002:str"
_INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def yaml_scalar(text: str) -> str:
    """Return a YAML scalar that parses to exactly this text.

    It is unquoted if YAML 1.1 and 1.2 both read the unquoted text as this string. Otherwise it is in double quotes."""
    if _PLAIN.fullmatch(text) and _is_text(text):
        return text
    return '"' + "".join(_SHORT_ESCAPES.get(letter) or printable(letter) for letter in text) + '"'


def printable(text: str) -> str:
    """Return the text with an escape (a backslash and the character's code) for each character that would move the
    cursor, break the line or be invisible."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def has_invisible_characters(text: str) -> bool:
    """Return whether the text has control, zero-width or bidirectional-formatting characters."""
    return not text.isprintable() and any(unicodedata.category(letter) in _INVISIBLE_CATEGORIES for letter in text)


def shortened(text: str, most: int) -> str:
    """Return the text, cut to `most` characters if it is longer. The last character of a cut text is an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_text(text: str) -> bool:
    """Return whether both YAML 1.1 and YAML 1.2 read the unquoted text as a string.

    PyYAML checks YAML 1.1 only. So False is returned for text that begins like a number: 0o7 and 1e3 are numbers in
    YAML 1.2. Digits with two or more dots, such as an IPv4 address, are accepted."""
    if re.match(r"[-+]?\.?[0-9]", text) and not re.fullmatch(r"[0-9]+(\.[0-9]+){2,}", text):
        return False
    return _plain_scalar_tag(text) == _TEXT_TAG


def _plain_scalar_tag(text: str) -> str:
    """Return the tag that YAML 1.1 gives to the unquoted text, such as the tag of a string or of a number."""
    # Help pages import this file, and must not wait for yaml.
    import yaml

    return str(_resolver().resolve(yaml.ScalarNode, text, (True, False)))


@cache
def _resolver() -> Any:  # yaml has no types for it
    import yaml

    return yaml.resolver.Resolver()


def _escaped(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
