"""The reference has every verb, flag, key, exit code and variable that the code has."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from docs.generate import pages as generated_pages
from hvdocker.cli.verb_table import VERBS
from hvdocker.errors import ExitCode, HostErrors, HvdockerError
from hvdocker.inventory.fields import INVENTORY_FIELD
from hvdocker.inventory.parse import parse
from tests.documentation import ROOT, console_blocks, pages

REFERENCE = ROOT / "docs" / "reference"
READMES = [ROOT / "README.md", ROOT / "README.ko.md"]
VARIABLE = re.compile(r"\bHVDOCKER_[A-Z_]+\b")
# A word of shell scripts that hvdocker writes, no variable.
NO_VARIABLE = {"HVDOCKER_END"}
JSON_OUTPUTS = (
    "doctor/report.py", "cluster/status.py", "placement/gpus.py", "jobs/jobs.py", "jobs/diff.py", "locks/lock.py",
    "images/image_list.py", "images/check_rules.py",
)  # fmt: skip


@pytest.mark.parametrize("path", generated_pages(), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated_pages()[path], "run: make reference"


def test_every_key_of_an_inventory_is_explained() -> None:
    text = (REFERENCE / "inventory.md").read_text(encoding="utf-8")
    assert [name for name in INVENTORY_FIELD.names if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.name)
def test_every_verb_stands_in_the_readme(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [name for name in VERBS if f"`{name}`" not in text] == []


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.name)
def test_a_readme_is_short_and_has_the_two_commands(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= 1200
    assert "$ make demo" in text and "$ make test" in text


def test_both_readmes_have_the_same_commands() -> None:
    english, korean = (
        [command.words for block in console_blocks(page) for command in block.commands] for page in READMES
    )
    assert english == korean


def test_every_exit_code_is_explained() -> None:
    text = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", text, re.MULTILINE) == [str(int(code)) for code in ExitCode]


def test_the_gravest_exit_code_is_the_one_that_the_page_says() -> None:
    text = (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")
    (order,) = re.findall(r"the gravest code counts: (\d), then ([\d, ]+)\.", text)
    codes = [int(order[0]), *map(int, order[1].split(", "))]
    for graver, other in pairwise(codes):
        errors = [HvdockerError("a"), HvdockerError("b")]
        for error, code in zip(errors, (other, graver), strict=True):
            error.exit_code = code
        assert HostErrors("both", errors).exit_code == graver


def test_every_variable_is_explained() -> None:
    code = [path for folder in ("hvdocker", "images") for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in code if "__pycache__" not in path.parts]
    used = {name for text in texts for name in VARIABLE.findall(text)} - NO_VARIABLE
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    assert sorted(used - set(VARIABLE.findall(page))) == []


def test_inventories_of_all_pages_parse() -> None:
    blocks = [
        (page, block.split("```")[0])
        for page in pages()
        for block in page.read_text(encoding="utf-8").split("```yaml\n")[1:]
    ]
    inventories = [(page, text) for page, text in blocks if re.search("^hosts:", text, re.MULTILINE)]
    assert len(inventories) >= 4
    for page, text in inventories:
        assert parse(text, page.name, "here").hosts


def keys_of_json_outputs() -> set[str]:
    """Return the keys of all objects that, in JSON_OUTPUTS, functions named `as_json` or `_…_json` return."""
    functions = [
        node
        for name in JSON_OUTPUTS
        for node in ast.walk(ast.parse((ROOT / "hvdocker" / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and re.fullmatch("as_json|_[a-z]+_json", node.name)
    ]
    objects = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.Dict)]
    keys = [key for found in objects for key in found.keys if isinstance(key, ast.Constant)]
    return {str(key.value) for key in keys}


def test_every_key_of_the_json_outputs_is_explained() -> None:
    text = (REFERENCE / "json.md").read_text(encoding="utf-8")
    keys = keys_of_json_outputs()
    assert len(keys) > 50
    assert sorted(key for key in keys if f"`{key}`" not in text) == []
