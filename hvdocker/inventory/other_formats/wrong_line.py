"""The exception for a line that a format does not have. Pure."""

from __future__ import annotations


class WrongLine(Exception):
    """The file is not of the format that was tried: it has a line that this format does not have. `number` counts from
    1."""

    def __init__(self, number: int, line: str) -> None:
        super().__init__(f"line {number}: {line}")
        self.number = number
        self.line = line
