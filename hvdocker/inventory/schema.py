"""Generates the JSON Schema of an inventory from the table of fields. Pure.

The schema accepts every inventory that `parse` accepts. Only `parse` finds problems that need more than patterns:
invalid addresses, duplicate hosts, mounts on hvdocker's own folders. `make schema` writes the schema to
hvdocker/inventory/inventory.schema.json, and a test fails if that file is not up to date."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from hvdocker.inventory.fields import (
    ENV_NAME_PATTERN,
    ENV_VALUE_PATTERN,
    EXTENSION_KEY_PATTERN,
    INVENTORY_FIELD,
    MOST_TEXT,
    MOUNT_PATTERN,
    SIZE_PATTERN,
    Field,
    FieldKind,
)
from hvdocker.units import LEAST_WITHOUT_UNIT

Schema = dict[str, object]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
ID = "urn:hvdocker:inventory"


def inventory_schema() -> Schema:
    """Return the JSON Schema of a whole inventory. It demands exactly one of the keys `hosts` and `local`."""
    one_of_both = [{"required": ["hosts"]}, {"required": ["local"]}]
    return {
        "$schema": DRAFT,
        "$id": ID,
        "title": INVENTORY_FIELD.help,
        **_properties(INVENTORY_FIELD),
        "type": "object",
        "oneOf": one_of_both,
    }


def schema_text() -> str:
    """Return the schema as the text of its JSON file."""
    return json.dumps(inventory_schema(), indent=2, ensure_ascii=False) + "\n"


def _described(field: Field) -> Schema:
    """Return the schema of one field with its description.

    In YAML a key without a value is `null`. `parse` treats it as missing, so the schema of most optional keys
    allows `null`."""
    default = f" Default: {field.default}." if field.default else ""
    return {"description": field.help + default, **_SCHEMA_BY_KIND[field.kind](field)}


def _anchored(pattern: str) -> str:
    """Return the pattern with anchors around it.

    Without them a pattern of a JSON Schema may match anywhere in a text."""
    return f"^(?:{pattern})$"


def _text(field: Field) -> Schema:
    kinds = ["string", "number"] if field.is_required else ["string", "number", "null"]
    return {"type": kinds, "minLength": 1, "maxLength": MOST_TEXT, "pattern": _anchored(field.pattern)}


def _integer(field: Field) -> Schema:
    kinds: object = "integer" if field.name == "local" else ["integer", "null"]
    return {"type": kinds, "minimum": field.low, "maximum": field.high}


def _number(field: Field) -> Schema:
    return {"type": ["number", "null"], "exclusiveMinimum": field.low, "exclusiveMaximum": field.high}


def _size(field: Field) -> Schema:
    return {
        "type": ["string", "integer", "null"],
        "pattern": _anchored(SIZE_PATTERN),
        "minimum": max(field.low, LEAST_WITHOUT_UNIT),
    }


def _group(field: Field) -> Schema:
    return {"type": ["object", "null"], **_properties(field)}


def _values(field: Field) -> Schema:
    return {
        "type": ["object", "null"],
        "propertyNames": {"pattern": _anchored(ENV_NAME_PATTERN)},
        "additionalProperties": {"type": ["string", "number"], "pattern": _anchored(ENV_VALUE_PATTERN)},
    }


def _mounts(field: Field) -> Schema:
    item = {"type": "string", "maxLength": MOST_TEXT, "pattern": _anchored(MOUNT_PATTERN)}
    return {"type": ["array", "null"], "items": item}


def _rules(field: Field) -> Schema:
    return {"type": ["array", "null"], "items": {"type": "object", **_properties(field)}}


def _hosts(field: Field) -> Schema:
    (host,) = (inner for inner in field.fields if inner.name == "host")
    short: Schema = {**_text(host), "type": "string"}
    item = {"anyOf": [short, {"type": "object", **_properties(field)}]}
    return {"type": "array", "minItems": 1, "items": item}


def _properties(field: Field) -> Schema:
    required = [inner.name for inner in field.fields if inner.is_required]
    return {
        **({"required": required} if required else {}),
        "properties": {inner.name: _described(inner) for inner in field.fields},
        "patternProperties": {f"^{EXTENSION_KEY_PATTERN}": {}},
        "additionalProperties": False,
    }


_SCHEMA_BY_KIND: Mapping[FieldKind, Callable[[Field], Schema]] = {
    FieldKind.TEXT: _text,
    FieldKind.WHOLE: _integer,
    FieldKind.NUMBER: _number,
    FieldKind.SIZE: _size,
    FieldKind.GROUP: _group,
    FieldKind.VALUES: _values,
    FieldKind.MOUNTS: _mounts,
    FieldKind.RULES: _rules,
    FieldKind.HOSTS: _hosts,
}
