"""Write JSON that can carry bytes that are not UTF-8. Pure.

Arguments, variables and file names may have such bytes. Python represents each of them as a lone surrogate (0xff as
U+DCFF). UTF-8 cannot encode surrogates, so they are written as JSON escapes. The program in the container reads the
escapes as surrogates again, and passes the same bytes on."""

from __future__ import annotations

import json
import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def json_text(value: object) -> str:
    """Return the value as indented JSON text that can be encoded as UTF-8. Letters outside ASCII stay readable; only
    lone surrogates (bytes that are not UTF-8) become escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
