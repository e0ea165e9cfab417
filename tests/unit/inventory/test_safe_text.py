import unicodedata

import pytest
import yaml

from hvdocker.inventory.safe_text import printable, yaml_scalar
from hvdocker.inventory.yaml_document import read_yaml

TRAPS = (
    "", " ", "a", "no", "on", "null", "~", "~/x", "1", "1.5", "1e3", "0o7", "0x1", "12:30", "a:b",
    "a: b", "a #b", "-", "- a",
    "?", "*a", "&a", "!a", "%a", "@a", "`a", "[a", "{a", "'", '"', "\\", "\n", "\ta", "a\n\nb",
    "\x85", "\u2028", "\ufeff",
    "\x7f", "\x00", "𝕏", "2001-01-01", "::1", "=", "<<", "10.0.0.1", "doc-hvd:cpu", "/a:/b:ro",
    "a:", ".", "..", "_1",
)  # fmt: skip


@pytest.mark.parametrize("text", TRAPS, ids=ascii)
@pytest.mark.parametrize("shape", ["x: {}", "- {}", "x: {}  # a comment"])
def test_a_value_reads_back_as_it_was(text: str, shape: str) -> None:
    document = shape.replace("{}", yaml_scalar(text))
    [value] = [*(yaml.safe_load(document).values() if document[0] == "x" else yaml.safe_load(document))]
    assert value == text
    ours = read_yaml(document, "x").value
    assert ours in ({"x": text}, [text])


def test_every_letter_reads_back() -> None:
    letters = [chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) != "Cs"]
    assert read_yaml("x: " + yaml_scalar("".join(letters)), "x").value == {"x": "".join(letters)}


def test_what_is_plain_stays_plain() -> None:
    for text in ("gpu-a", "doc-hvd:cpu", "/mnt/data:/data:ro", "10.0.0.11", "~/.ssh/key", "kim@gpu-a"):
        assert yaml_scalar(text) == text


def test_nothing_moves_the_cursor() -> None:
    assert printable("a\x1b[2J\n\u202e") == "a\\x1b[2J\\x0a\\u202e"
