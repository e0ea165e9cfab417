"""The origin of a setting: a line of the inventory, an OpenSSH configuration file, or a default. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.inventory.fields import SSH_FIELDS
from hvdocker.inventory.yaml_document import Document, KeyPath, read_yaml


@dataclass(frozen=True)
class Setting:
    """A value and its origin. `value` is None if nothing is set.

    `origin` is text for the user: `ssh/user (line 4)`, `~/.ssh/config`, the path of the system's OpenSSH configuration,
    or a default. It may be empty."""

    value: str | int | None
    origin: str


@dataclass(frozen=True)
class EffectiveSsh:
    """The SSH settings of one host after combining the inventory, OpenSSH's configuration and the defaults.

    `keys` are the key files that are tried if `key` is not set; else it is empty. `address` is HostName of OpenSSH's
    configuration, or None if HostName is not set or equals the host. `has_proxy_command` says whether a ProxyCommand
    makes the connection."""

    user: Setting
    port: Setting
    key: Setting
    jump: Setting
    handshake_timeout: Setting
    keys: tuple[str, ...] = ()
    address: Setting | None = None
    has_proxy_command: bool = False


@dataclass(frozen=True)
class Origins:
    """The lines on which the settings of an inventory are set, as text such as `line 4` or `ssh/user (line 4)`.

    `top` has these texts by top-level key. `ssh` has one mapping per host, with these texts by SSH setting."""

    top: Mapping[str, str]
    ssh: tuple[Mapping[str, str], ...] = ()


def find_origins(text: str) -> Origins:
    """Return the line of each setting. `text` is an inventory that `parse` has accepted."""
    document = read_yaml(text, "")
    value = _mapping(document.value)
    hosts = value.get("hosts")
    count = len(hosts) if isinstance(hosts, list) else 0
    return Origins(
        {name: f"line {document.lines[(name,)]}" for name, item in value.items() if item is not None},
        tuple(_ssh_origins(document, index) for index in range(count)),
    )


def _ssh_origins(document: Document, index: int) -> dict[str, str]:
    top = _mapping(document.value)
    hosts = top["hosts"]
    item = hosts[index] if isinstance(hosts, list) else None
    host = _mapping({"host": item} if isinstance(item, str) else item)
    found: dict[str, str] = {}
    for field in SSH_FIELDS:
        own: KeyPath = ("hosts", index, "ssh", field.name)
        if _is_in_host_text(field.name, str(host["host"])):
            found[field.name] = document.where(("hosts", index))
        elif _mapping(host.get("ssh")).get(field.name) is not None:
            found[field.name] = document.where(own)
        elif _mapping(top.get("ssh")).get(field.name) is not None:
            found[field.name] = document.where(("ssh", field.name))
    return found


def _is_in_host_text(setting: str, host: str) -> bool:
    """Return whether `host`, the text of a `host:` in the inventory, contains the SSH setting named `setting`: `user`
    as in user@host, or `port` as in [address]:port. Other settings cannot be in this text."""
    user, _, rest = host.rpartition("@")
    return bool(user if setting == "user" else setting == "port" and "]:" in rest)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
