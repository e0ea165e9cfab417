"""The messages of docs/troubleshooting.md are messages that the program has."""

import ast
import re

import pytest

from tests.documentation import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)
# Shorter parts occur by chance.
LEAST = 4


def texts_of_the_program() -> str:
    """Return all string constants of the program; a formatted value is `…`."""
    found = []
    for path in (ROOT / "hvdocker").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
                found.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


TEXTS = texts_of_the_program()


def test_there_are_many_messages_in_order() -> None:
    assert len(MESSAGES) > 40
    keys = [(not message.startswith("…"), message.lstrip("… ").lower()) for message in MESSAGES]
    assert keys == sorted(keys)


@pytest.mark.parametrize("message", MESSAGES)
def test_the_program_has_the_message(message: str) -> None:
    parts = [part.strip() for part in message.split("…") if len(part.strip()) >= LEAST]
    assert parts and [part for part in parts if part not in TEXTS] == []
