"""The published schema says what the parser says."""

from pathlib import Path

import jsonschema
import pytest

from hvdocker.errors import InventoryError
from hvdocker.inventory.fields import INVENTORY_FIELD, Field
from hvdocker.inventory.parse import parse
from hvdocker.inventory.schema import inventory_schema, schema_text
from hvdocker.inventory.yaml_document import read_yaml

CASES = Path(__file__).parents[1] / "fixtures" / "inventories"
PUBLISHED = Path(__file__).parents[3] / "hvdocker" / "inventory" / "inventory.schema.json"
SCHEMA = jsonschema.Draft202012Validator(inventory_schema())

# What a pattern cannot say: true addresses, things that stand twice, our own folders, what is no YAML at all.
BEYOND = {
    "alias-of-itself", "duplicate-hosts", "duplicate-keys", "mounts-onto-our-folders", "rules-no-expression",
    "size-fraction-without-unit", "unknown-tag", "not-yaml", "tabs",
    "two-documents",
}  # fmt: skip


def cases(kind: str) -> list[Path]:
    return sorted((CASES / kind).glob("*.yaml"))


def test_the_published_schema_is_that_of_the_model() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), "make schema"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(inventory_schema())


@pytest.mark.parametrize("path", cases("right"), ids=lambda path: path.stem)
def test_it_takes_what_the_parser_takes(path: Path) -> None:
    SCHEMA.validate(read_yaml(path.read_text(encoding="utf-8"), path.name).value)


@pytest.mark.parametrize(
    "path", [path for path in cases("wrong") if path.stem not in BEYOND], ids=lambda path: path.stem
)
def test_it_refuses_what_the_parser_refuses(path: Path) -> None:
    assert not SCHEMA.is_valid(read_yaml(path.read_text(encoding="utf-8"), path.name).value)


def test_what_is_beyond_it_is_named_rightly() -> None:
    for path in cases("wrong"):
        try:
            is_valid = SCHEMA.is_valid(read_yaml(path.read_text(encoding="utf-8"), path.name).value)
        except InventoryError:
            is_valid = True
        assert is_valid == (path.stem in BEYOND), path.stem


def groups(field: Field) -> list[Field]:
    return [field, *(inner for child in field.fields for inner in groups(child))]


@pytest.mark.parametrize(
    "field", [each for each in groups(INVENTORY_FIELD) if each.example], ids=lambda field: field.name
)
def test_every_field_explains_itself(field: Field) -> None:
    assert field.help.endswith(".") and field.help[0].isupper()


@pytest.mark.parametrize("field", INVENTORY_FIELD.fields, ids=lambda field: field.name)
def test_every_example_parses(field: Field) -> None:
    text = f"{field.name}: {field.example}\n"
    text += "" if field.name in ("hosts", "local") else "hosts: [a]\n"
    assert parse(text, "example", "here").hosts
    SCHEMA.validate(read_yaml(text, "example").value)


def test_an_unknown_key_is_refused_at_every_level() -> None:
    for text in ("hosts: [a]\nimge: x", "hosts: [{host: a, slot: 1}]", "hosts: [a]\nssh: {usr: x}"):
        assert not SCHEMA.is_valid(read_yaml(text, "x").value)
        with pytest.raises(InventoryError):
            parse(text, "x", "here")
