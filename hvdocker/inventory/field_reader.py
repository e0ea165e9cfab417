"""Reads typed values of an inventory, checked against the table of fields (fields.py). Pure.

Problems are collected in the document instead of raised."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hvdocker.inventory.fields import EXTENSION_KEY_PATTERN, Field, FieldKind
from hvdocker.inventory.safe_text import shortened
from hvdocker.inventory.yaml_document import Document, KeyPath
from hvdocker.units import exact_size, forgotten_unit, parse_bytes

MOST_SHOWN = 80

Values = Mapping[str, object]
TextCheck = Callable[[str], str | None]


@dataclass
class FieldReader:
    """Reads and checks the values of one inventory. Methods that read a value return None if it is missing or wrong
    (`group` returns an empty mapping); a wrong value is also added to the problems of `document`.

    Parameters of the methods: `values` is a mapping in the inventory and `path` the place of that mapping, such as
    ("hosts", 1), or () for the top level. `field` is the row of fields.py for the key to read. In methods with the
    parameter `value`, `path` is the place of that value."""

    document: Document

    def complain(self, path: KeyPath, text: str) -> None:
        self.document.complain(path, text)

    def group(self, value: object, path: KeyPath, field: Field, label: str) -> Values:
        """Return `value` if it is a mapping, else an empty mapping. `path` is the place of `value` itself.

        Two things are reported as problems: a value that is neither missing nor a mapping, and a key in the mapping
        that `field` does not list (`x-` keys are allowed). `label` says in the problem what should be
        mapped, such as `host settings` in `should be a mapping of host settings, got a list`."""
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.complain(path, f"should be a mapping of {label}, got {self.describe_value(value, path)}")
            return {}
        for key in value:
            if key not in field.names and not re.match(EXTENSION_KEY_PATTERN, key):
                self.complain((*path, key), f"unknown key{_suggestion(key, field)}")
        return value

    def text(self, values: Values, path: KeyPath, field: Field, check: TextCheck | None = None) -> str | None:
        """Return the value of the key `field` in the mapping `values` as text. Return None if the key is missing.

        If the value does not match the pattern of the field, or `check` finds a problem, report it and return None.
        `check` gets the text and returns what is wrong with it, or None. `path` is the place of the mapping, such as
        ("hosts", 1)."""
        return self.checked(values.get(field.name), (*path, field.name), field, check)

    def checked(self, value: object, path: KeyPath, field: Field, check: TextCheck | None = None) -> str | None:
        """Return `value` as text if it matches the pattern of `field` and `check` finds no problem in it. Otherwise
        report a problem at `path`, the place of the value such as ("hosts", 1, "name"), and return None.

        `check` gets the text and returns what is wrong with it, or None. A missing value (None) is no problem."""
        text = self.as_text(value, path)
        if text is None:
            return None
        problem = (check(text) if check else None) or (None if field.matches(text) else field.should)
        if problem:
            self.complain(path, f"{problem}, got {quoted(text)}")
            return None
        return text

    def as_text(self, value: object, path: KeyPath) -> str | None:
        """Return the value if it is text, or a number as it is spelled in the file. A missing value (None) stays None.
        Anything else, and empty text, is reported as a problem at `path` (the place of the value) and gives None."""
        if value is None or (isinstance(value, str) and value):
            return value
        # An unquoted 10 or 1.50 is meant as text here.
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return self.document.texts[path]
        self.complain(path, f"should be text, got {self.describe_value(value, path)}")
        return None

    def integer(self, values: Values, path: KeyPath, field: Field) -> int | None:
        """Return the value of the key `field` in the mapping `values`, if it is an integer within the bounds of the
        field. `path` is the place of the mapping. A missing key gives None; a wrong value gives None and a problem."""
        path, value = (*path, field.name), values.get(field.name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.complain(path, f"should be an integer, got {self.describe_value(value, path)}")
            return None
        if value < field.low or (field.high is not None and value > field.high):
            self.complain(path, f"should be between {field.low} and {field.high}, got {value}")
            return None
        return value

    def number(self, values: Values, field: Field) -> float | None:
        """Return the value of the top-level key `field`, if it is a number strictly between the bounds of the field. A
        missing key gives None; a wrong value gives None and a problem. `values` is the whole inventory."""
        path, value = (field.name,), values.get(field.name)
        if value is None:
            return None
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and field.low < value < (field.high or math.inf):  # type: ignore[operator]  # a number
            return float(value)  # type: ignore[arg-type]  # as above
        self.complain(path, f"should be a number above {field.low}, got {self.describe_value(value, path)}")
        return None

    def size(self, values: Values, path: KeyPath, field: Field) -> int | None:
        """Return the value of the key `field` in the mapping `values` in bytes, if it is a size such as 16GB. `path`
        is the place of the mapping. A missing key gives None.

        Any other value gives None and a problem. A number without a unit means bytes, as in Docker; if it is too small
        for that, the unit was forgotten, and that is a problem too. So is a size below `field.low` bytes."""
        path, value = (*path, field.name), values.get(field.name)
        if value is None:
            return None
        is_size = isinstance(value, (str, int)) and not isinstance(value, bool)
        found = parse_bytes(str(value)) if is_size else None
        if is_size and (problem := forgotten_unit(str(value), field.example)):
            self.complain(path, problem)
            return None
        if not found:
            self.complain(path, f"should be a size such as {field.example}, got {self.describe_value(value, path)}")
        elif found < field.low:
            got = self.describe_value(value, path)
            self.complain(path, f"should be at least {exact_size(field.low)}, got {got}")
            return None
        return found

    def describe_value(self, value: object, path: KeyPath) -> str:
        """Return how a message names a value, for the end of `should be text, got …`.

        Text is put in quotes and shortened. Mappings, lists and a missing value become `a mapping`, `a list`, `an empty
        list` or `nothing`. Any other value is named as it is spelled in the file. `path` is the place of the value."""
        if isinstance(value, str):
            return f'"{shortened(value, MOST_SHOWN)}"'
        if isinstance(value, dict):
            return "a mapping"
        if isinstance(value, list):
            return "a list" if value else "an empty list"
        return "nothing" if value is None else self.document.texts[path]


# Keys that no inventory has, and what to do instead.
_HINTS = {
    "password": "hvdocker logs in with keys only; copy yours with ssh-copy-id",
    "pass": "hvdocker logs in with keys only; copy yours with ssh-copy-id",
}


def _suggestion(key: str, field: Field) -> str:
    """Return the end of the message about the unknown key `key` in the mapping `field`: the key that was probably
    meant.

    If no key is similar, all known keys are named. A key of a mapping inside `field`, such as `port` of `ssh`, is named
    with that mapping. For some wrong keys, such as `password`, the text says what to do instead."""
    for group in field.fields:
        # A list such as `hosts` has entries, not keys.
        if group.kind is FieldKind.GROUP and key in group.names:
            return f"; did you mean `{group.name}: {{{key}: …}}`?"
    if hint := _HINTS.get(key):
        return f"; {hint}"
    known = field.names
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.66)
    return f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(known)}"


def quoted(text: str) -> str:
    return f"'{shortened(text, MOST_SHOWN)}'"
