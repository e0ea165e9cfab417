"""A host of another tool's file, written as an entry of `hosts:` in YAML. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hvdocker.inventory.safe_text import yaml_scalar


@dataclass(frozen=True)
class HostEntry:
    """A host as another tool's file describes it. The fields are those of an inventory; one that is empty is not
    written. Values are text as in the file: whether they are valid is checked where the inventory is parsed."""

    host: str
    name: str = ""
    slots: str = ""
    user: str = ""
    port: str = ""
    key: str = ""
    jump: str = ""

    def yaml(self) -> str:
        """Return the entry of `hosts:`: the host itself if nothing else is known of it, else a mapping."""
        values = {"host": self.host, "name": self.name, "slots": self.slots}
        ssh = {"user": self.user, "port": self.port, "key": self.key, "jump": self.jump}
        parts = [f"{key}: {_scalar(value)}" for key, value in values.items() if value]
        inner = ", ".join(f"{key}: {_scalar(value)}" for key, value in ssh.items() if value)
        if inner:
            parts.append(f"ssh: {{{inner}}}")
        return "{" + ", ".join(parts) + "}" if parts[1:] else yaml_scalar(self.host)


def _scalar(value: str) -> str:
    return value if re.fullmatch("0|[1-9][0-9]{0,5}", value) else yaml_scalar(value)
