"""Recognises files that have no hosts in them but are easily taken for a list of hosts. Pure."""

from __future__ import annotations

import re

from hvdocker.errors import InventoryError
from hvdocker.inventory.yaml_document import read_yaml

_REQUIREMENT = re.compile(
    r"[A-Za-z0-9._-]+(\[[A-Za-z0-9._,-]*\])?\s*([=~<>!]=|===|[<>]|@\s*\w+:).*|(-r|-c|-e|--[a-z-]+url)\s*=?\S*.*"
)
_REQUIREMENTS_NAME = re.compile(r"(.*[-_.])?(requirements|constraints)([-_.].*)?\.(txt|in)")
_TABLE = re.compile(r"\[\[?[A-Za-z0-9_.\"' -]+\]?\]\s*(#.*)?")
_SETTING = re.compile(r"[A-Za-z0-9_.\"-]+\s+=(\s+\S.*)?|[A-Za-z0-9_.\"-]+=[\[{\"'].*")
_KINDS_BY_SUFFIX = {"toml": "a TOML file", "py": "a Python program", "sh": "a shell script"}
_REQUIREMENTS = "a requirements file of pip"


def kind_by_name(name: str) -> str | None:
    """Return what the file `name` is, such as `a TOML file`, if its name says that it has no hosts. A requirements file
    with names of packages only would pass for a hostfile."""
    if _REQUIREMENTS_NAME.fullmatch(name):
        return _REQUIREMENTS
    return _KINDS_BY_SUFFIX.get(name.rpartition(".")[2])


def kind_by_text(text: str) -> str | None:
    """Return what the file with this text is, such as `a Compose file`, if it is of a kind that has no hosts.

    Return None if the text shows no such kind."""
    lines = [bare for line in text.splitlines() if (bare := line.strip()) and not bare.startswith(("#", ";"))]
    if any(_REQUIREMENT.fullmatch(line) for line in lines):
        return _REQUIREMENTS
    if lines and _TABLE.fullmatch(lines[0]) and any(_SETTING.fullmatch(line) for line in lines):
        return "a file of settings (TOML or INI)"
    return _kind_of_yaml(text)


def _kind_of_yaml(text: str) -> str | None:
    try:
        value = read_yaml(text, "").value
    except InventoryError:
        return None
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("services"), dict):
        return "a Compose file"
    return "an inventory of hvdocker" if isinstance(value.get("hosts"), list) or "local" in value else None
