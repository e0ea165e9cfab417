"""The messages of docs/troubleshooting.md are messages that the program has, and all errors about hosts stand there."""

import ast
import re

import pytest

from tests.documentation import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)
# Errors about hosts, links and heads.
HOST_ERRORS = {"HostUnfit", "HostUnreachable", "HeadLost", "ChannelRefused", "CommandTimeout", "Locked"}
# These say all themselves, or only together with others.
SAY_ALL = {
    "`cpus: …` is more than the … that it has",
    "`slots: …` is more than the … GPUs that it has",
    "the container of … … there, and could not be stopped",
}
# Shorter parts occur by chance.
LEAST = 4


def texts_of_the_program() -> str:
    """Return all string constants of the program; a formatted value is `…`."""
    found = []
    for path in (ROOT / "hvdocker").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append(text_of(node) or "")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def text_of(node: ast.expr) -> str | None:
    """Return the text of a string, None if the expression is no string. A formatted value is `…`."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def errors_about_hosts() -> set[str]:
    """Return the messages of all errors about hosts that are raised with a literal text."""
    found = set()
    for path in (ROOT / "hvdocker").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in HOST_ERRORS:
                found.update(text_of(argument) or "" for argument in node.args[:1])
    return {text for text in found if text.strip("… ")}


TEXTS = texts_of_the_program()


def test_there_are_many_messages_in_order() -> None:
    assert len(MESSAGES) > 40
    keys = [(not message.startswith("…"), message.lstrip("… ").lower()) for message in MESSAGES]
    assert keys == sorted(keys)


@pytest.mark.parametrize("message", MESSAGES)
def test_the_program_has_the_message(message: str) -> None:
    parts = [part.strip() for part in message.split("…") if len(part.strip()) >= LEAST]
    assert parts and [part for part in parts if part not in TEXTS] == []


def test_every_error_about_a_host_has_its_row() -> None:
    patterns = [re.compile(".*".join(map(re.escape, message.split("…")))) for message in MESSAGES]
    errors = errors_about_hosts()
    assert len(errors) > 40
    missing = {error for error in errors if not any(pattern.search(error) for pattern in patterns)}
    assert missing == SAY_ALL
