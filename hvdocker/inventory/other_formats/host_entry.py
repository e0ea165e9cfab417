"""Writes a host as an entry of `hosts:` in YAML. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from hvdocker.inventory.safe_text import yaml_scalar

Variables = Mapping[str, str]


def host_entry(values: Variables, ssh: Variables = MappingProxyType({})) -> str:
    """Return a host as an entry of `hosts:`, in YAML.

    `values` has `host` and may have other keys of the entry, `ssh` the keys of its `ssh:`. If only `host` is known, the
    entry is the host itself, such as `gpu-a`. Otherwise it is a mapping, such as `{host: gpu-b, slots: 4}`."""
    if not ssh and list(values) == ["host"]:
        return yaml_scalar(values["host"])
    parts = [f"{key}: {_scalar(value)}" for key, value in values.items()]
    inner = ", ".join(f"{key}: {_scalar(value)}" for key, value in ssh.items())
    return "{" + ", ".join([*parts, *([f"ssh: {{{inner}}}"] if inner else [])]) + "}"


def _scalar(value: str) -> str:
    return value if re.fullmatch("[0-9]{1,6}", value) else yaml_scalar(value)
