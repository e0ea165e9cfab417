"""Writes a host as an entry of `hosts:` in YAML. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from hvdocker.inventory.safe_text import yaml_scalar

Variables = Mapping[str, str]


def host_entry(values: Variables, ssh: Variables = MappingProxyType({})) -> str:
    """Return an entry of `hosts:`: the host itself if nothing else is known of it, else a mapping."""
    if not ssh and list(values) == ["host"]:
        return yaml_scalar(values["host"])
    parts = [f"{key}: {_scalar(value)}" for key, value in values.items()]
    inner = ", ".join(f"{key}: {_scalar(value)}" for key, value in ssh.items())
    return "{" + ", ".join([*parts, *([f"ssh: {{{inner}}}"] if inner else [])]) + "}"


def _scalar(value: str) -> str:
    return value if re.fullmatch("[0-9]{1,6}", value) else yaml_scalar(value)
