"""Renders an inventory in full, as YAML or JSON: every setting, where it comes from, and the default if it is not set.

If no settings of ~/.ssh/config were added (`effective_ssh` is empty), the YAML parses to the same inventory. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from hvdocker.inventory.fields import HOST_FIELDS, INVENTORY_FIELD, SSH_FIELDS, Field
from hvdocker.inventory.inventory import Host, Inventory
from hvdocker.inventory.origin import EffectiveSsh, Setting
from hvdocker.inventory.safe_text import printable, yaml_scalar
from hvdocker.units import exact_size

PlainValue = str | int | float | None


@dataclass(frozen=True)
class ConfigView:
    """An inventory, the path of its file, and `why` that file was chosen (`found in this folder`).

    `origins` maps each top-level key that is set to its line in the file (`line 4`); other keys have their default.
    `effective_ssh` has one entry per host, in the order of the hosts. It is empty if ~/.ssh/config was not read."""

    inventory: Inventory
    path: str = ""
    why: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    effective_ssh: tuple[EffectiveSsh, ...] = ()

    def settings(self, host: Host, index: int) -> dict[str, Setting]:
        """Return the SSH settings of a host by name: user, port, key, jump, handshake_timeout. Each has its value and
        its origin: text that says where the value was set, such as `ssh/user (line 4)`.

        If ~/.ssh/config was read, the settings are those of the inventory combined with it. Otherwise they are those of
        the inventory alone, and their origins are empty. `index` is the host's position in the inventory."""
        if self.effective_ssh:
            reach = self.effective_ssh[index]
            return {each.name: getattr(reach, each.name) for each in SSH_FIELDS}
        return {each.name: Setting(getattr(host.ssh, each.name), "") for each in SSH_FIELDS}


def config_yaml(view: ConfigView) -> str:
    """Return the inventory as YAML. Comments say where each setting comes from, and the default of a setting that is
    not set."""
    return "".join(f"{line}\n" for line in _lines(view))


def config_json(view: ConfigView) -> dict[str, object]:
    """Return the inventory as a JSON object.

    It has the path of the file (`inventory`), the reason why this file was chosen (`why`), and all keys of an inventory
    except the top-level `ssh`, whose settings are in each host.

    The `ssh` of a host maps each setting to its `value` and its origin (`from`). If ~/.ssh/config was read, it also has
    `keys` (the key files to try) and `hostname` (what ssh connects to). Sizes are in bytes. A key that is not set has
    the value None, but `cluster`, `user` and `gpus` have their default, and lists and `env` are empty."""
    inventory = view.inventory
    return {
        "inventory": view.path,
        "why": view.why,
        **_plain_settings(inventory),
        "env": dict(inventory.env),
        "mounts": [mount.bind() for mount in inventory.mounts],
        "gpus": {"busy": inventory.gpu_busy_bytes},
        "keys": {"private": inventory.keys.private, "public": inventory.keys.public} if inventory.keys else None,
        "rules": [{"match": rule.pattern, "then": rule.then} for rule in inventory.rules],
        "local": len(inventory.hosts) if inventory.is_local else None,
        "hosts": [_host_json(view, host, index) for index, host in enumerate(_remote_hosts(inventory))],
    }


def _host_json(view: ConfigView, host: Host, index: int) -> dict[str, object]:
    reach = view.effective_ssh[index] if view.effective_ssh else None
    ssh: dict[str, object] = {
        name: {"value": setting.value, "from": setting.origin} for name, setting in view.settings(host, index).items()
    }
    if reach:
        ssh["keys"] = list(reach.keys)
        ssh["hostname"] = reach.address.value if reach.address else host.host
    return {"host": host.host, "name": host.name, "address": host.address, "slots": host.slots, "ssh": ssh}


def _lines(view: ConfigView) -> Iterator[str]:
    if view.path:
        yield f"# {printable(view.path)}: {printable(view.why)}"
    inventory = view.inventory
    plain = _plain_settings(inventory)
    sizes = {"shm": inventory.shm_bytes, "memory": inventory.memory_bytes}
    for each in INVENTORY_FIELD.fields:
        if size := sizes.get(each.name):
            yield f"{each.name}: {exact_size(size)}{_origin(view, each.name)}"
        elif each.name in plain:
            yield from _entry(each, plain[each.name], _origin(view, each.name))
    yield from _env(inventory, _origin(view, "env"))
    yield from _mounts(inventory, _origin(view, "mounts"))
    yield f"gpus: {{busy: {exact_size(inventory.gpu_busy_bytes)}}}{_origin(view, 'gpus')}"
    yield from _keys(inventory, _origin(view, "keys"))
    yield from _rules(inventory, _origin(view, "rules"))
    if inventory.is_local:
        yield f"local: {len(inventory.hosts)}{_origin(view, 'local')}"
        return
    yield "hosts:"
    for index, host in enumerate(inventory.hosts):
        yield from _host(view, host, index)


def _plain_settings(inventory: Inventory) -> dict[str, PlainValue]:
    return {
        "cluster": inventory.cluster,
        "image": inventory.image if inventory.has_named_image else None,
        "launcher": inventory.launcher,
        "port": inventory.port,
        "network": inventory.network,
        "shm": inventory.shm_bytes,
        "memory": inventory.memory_bytes,
        "cpus": inventory.cpus,
        "user": inventory.user,
        "registry": inventory.registry,
    }


def _remote_hosts(inventory: Inventory) -> tuple[Host, ...]:
    return () if inventory.is_local else inventory.hosts


def _origin(view: ConfigView, name: str) -> str:
    return f"  # {view.origins.get(name, 'default')}" if view.path else ""


def _entry(each: Field, value: PlainValue, comment: str = "", indent: str = "") -> Iterator[str]:
    if value is not None:
        yield f"{indent}{each.name}: {_yaml_value(value)}{comment}"
    elif each.default:
        yield f"{indent}# {each.name}: {each.default}"


def _yaml_value(value: str | int | float) -> str:
    if isinstance(value, str):
        return yaml_scalar(value)
    return str(value) if isinstance(value, int) else f"{Decimal(repr(value)):f}"


def _env(inventory: Inventory, comment: str) -> Iterator[str]:
    yield f"env:{'' if inventory.env else ' {}'}{comment}"
    for name, value in inventory.env.items():
        yield f"  {yaml_scalar(name)}: {yaml_scalar(value)}"


def _mounts(inventory: Inventory, comment: str) -> Iterator[str]:
    yield f"mounts:{'' if inventory.mounts else ' []'}{comment}"
    for mount in inventory.mounts:
        yield f"  - {yaml_scalar(mount.bind())}"


def _rules(inventory: Inventory, comment: str) -> Iterator[str]:
    yield f"rules:{'' if inventory.rules else ' []'}{comment}"
    for rule in inventory.rules:
        yield f"  - {{match: {yaml_scalar(rule.pattern)}, then: {rule.then}}}"


def _keys(inventory: Inventory, comment: str) -> Iterator[str]:
    if not inventory.keys:
        yield from (line for each in INVENTORY_FIELD.fields if each.name == "keys" for line in _entry(each, None))
        return
    yield f"keys:{comment}"
    yield f"  private: {yaml_scalar(inventory.keys.private)}"
    yield f"  public: {yaml_scalar(inventory.keys.public)}"


def _host(view: ConfigView, host: Host, index: int) -> Iterator[str]:
    values: dict[str, PlainValue] = {"name": host.name, "address": host.address, "slots": host.slots}
    yield f"  - host: {yaml_scalar(host.host)}"
    for each in HOST_FIELDS:
        if each.name in values:
            yield from _entry(each, values[each.name], indent="    ")
    reach = view.effective_ssh[index] if view.effective_ssh else None
    if reach and reach.address:
        yield f"    # reached as {printable(str(reach.address.value))}: HostName in {reach.address.origin}"
    if reach and reach.has_proxy_command:
        yield "    # reached through a ProxyCommand"
    if reach or any(setting.value is not None for setting in view.settings(host, index).values()):
        yield "    ssh:"
    for each in SSH_FIELDS:
        yield from _ssh(each, view.settings(host, index)[each.name], reach)


def _ssh(each: Field, setting: Setting, reach: EffectiveSsh | None) -> Iterator[str]:
    comment = f"  # {printable(setting.origin)}" if setting.origin else ""
    if setting.value is None:
        if reach and each.name == "key":
            tried = ", ".join(printable(key) for key in reach.keys) or "no key file is there"
            yield f"      # key: the agent's keys; {tried}"
        return
    if isinstance(setting.value, str) and not each.matches(setting.value):
        yield f"      # {each.name}: {printable(setting.value)}{comment}"
    else:
        yield f"      {each.name}: {_yaml_value(setting.value)}{comment}"
