"""Parses the text of an inventory into an Inventory, or reports all problems at once with their lines. Pure."""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Mapping, Sequence

from hvdocker import names
from hvdocker.errors import InventoryError
from hvdocker.inventory.field_reader import MOST_SHOWN, FieldReader, TextCheck, Values, quoted
from hvdocker.inventory.fields import (
    ENV_NAME_PATTERN,
    ENV_VALUE_PATTERN,
    INVENTORY_FIELD,
    MOST_PORT,
    MOUNT_PATTERN,
    Field,
    is_safe_text,
)
from hvdocker.inventory.inventory import BUSY_BYTES, Host, Inventory, KeyPair, Mount, SshSettings, local_hosts
from hvdocker.inventory.safe_text import shortened
from hvdocker.inventory.yaml_document import KeyPath, read_yaml
from hvdocker.protocol.resilience import Rule

_BRACKETS = re.compile(r"\[([^\[\]]+)\](?::([0-9]{1,5}))?")
_RESERVED_PATHS = (names.CODE_MOUNT, names.CONTAINER_FOLDER, "/out", "/opt/hvdocker", "/etc/passwd")


def parse(text: str, source: str, default_cluster: str) -> Inventory:
    """Return the inventory in `text`. If there are problems, raise one InventoryError with all of them.

    `source` names the file in messages. `default_cluster` is the name of the cluster if the inventory does not give
    one."""
    document = read_yaml(text, source)
    if document.value is None:
        raise InventoryError(source, ["the file is empty; it needs at least `hosts:`"])
    reader = FieldReader(document)
    inventory = _inventory(reader, default_cluster)
    if problems := document.problems:
        raise InventoryError(source, problems)
    return inventory


def without_lines(error: InventoryError, source: str, names: Sequence[str] = ()) -> InventoryError:
    """Return the problems of hosts that the user gave in another way than an inventory, such as `--hosts`: without
    places and lines of an inventory that the user never saw. `source` names where the hosts came from. `names` are the
    names of the hosts if the user gave more of them than names, such as ports."""
    return InventoryError(source, (_without_line(problem, names) for problem in error.problems))


def _without_line(problem: str, names: Sequence[str]) -> str:
    if found := re.fullmatch(r"hosts/\d+ \(line \d+\): (the .+) is already that of hosts/\d+", problem):
        return f"{found[1]} is there twice"
    found = re.match(r"hosts/(\d+)(?:/\w+)*?(?:/(\w+))? \(line \d+\): ", problem)
    if not found:
        return problem
    is_named = names and found[2] and found[2] != "host"
    subject = f"{found[2]} of {names[int(found[1])]}" if is_named else "a host"
    return f"{subject} {problem[found.end() :]}"


def _inventory(reader: FieldReader, default_cluster: str) -> Inventory:
    top = reader.group(reader.document.value, (), INVENTORY_FIELD, "settings")
    fields = {field.name: field for field in INVENTORY_FIELD.fields}

    def text(name: str, check: TextCheck | None = None) -> str | None:
        return reader.text(top, (), fields[name], check)

    ssh = _ssh(reader, top, (), fields["ssh"])
    return Inventory(
        cpus=reader.number(top, fields["cpus"]),
        cluster=text("cluster") or default_cluster,
        image=names.image_tag((named := text("image")) or names.DEFAULT_IMAGE),
        has_named_image=named is not None,
        launcher=text("launcher"),
        port=reader.integer(top, (), fields["port"]),
        network=text("network", _network_problem),
        env=_env(reader, top.get("env")),
        mounts=_mounts(reader, top.get("mounts")),
        shm_bytes=reader.size(top, (), fields["shm"]),
        memory_bytes=reader.size(top, (), fields["memory"]),
        user=text("user") or "host",
        keys=_keys(reader, top, fields["keys"]),
        registry=text("registry"),
        gpu_busy_bytes=_gpu_busy(reader, top, fields["gpus"]),
        rules=_rules(reader, top.get("rules"), fields["rules"]),
        hosts=_local(reader, top, fields["local"]) if "local" in top else _hosts(reader, top, ssh),
    )


def _hosts(reader: FieldReader, top: Values, ssh: SshSettings) -> tuple[Host, ...]:
    value = top.get("hosts")
    if not isinstance(value, list) or not value:
        if isinstance(reader.document.value, dict):
            got = reader.describe_value(value, ("hosts",))
            reader.complain(("hosts",), f"should be a list of at least one host, got {got}")
        return ()
    field = next(field for field in INVENTORY_FIELD.fields if field.name == "hosts")
    hosts = [_host(reader, item, ("hosts", index), field, ssh) for index, item in enumerate(value)]
    _complain_of_duplicates(reader, hosts)
    return tuple(host for host in hosts if host)


def _local(reader: FieldReader, top: Values, field: Field) -> tuple[Host, ...]:
    if "hosts" in top:
        reader.complain(("local",), "`local:` and `hosts:` exclude each other")
    if top["local"] is None:
        reader.complain(("local",), "should be a number of workers, got nothing")
    count = reader.integer(top, (), field)
    return local_hosts(count) if count else ()


def _host(reader: FieldReader, item: object, path: KeyPath, field: Field, general: SshSettings) -> Host | None:
    # A host may be plain text. Its problems are then reported for the list entry itself.
    host_path: KeyPath = path if isinstance(item, str) else (*path, "host")
    if isinstance(item, str):
        item = {"host": item}
    values = reader.group(item, path, field, "host settings")
    if not values:
        if item is None or item == {}:
            reader.complain(path, "this host is empty")
        return None
    if values.get("host") is None:
        reader.complain(path, "this host has no `host:` (a name or an address)")
        return None
    fields = {field.name: field for field in field.fields}
    host = reader.checked(values["host"], host_path, fields["host"], _host_problem)
    if host is None:
        return None
    user, _, rest = host.rpartition("@")
    rest, port = _without_brackets(rest)
    ssh = SshSettings(user=user or None, port=port).with_defaults(_ssh(reader, values, path, fields["ssh"]))
    return Host(
        name=reader.text(values, path, fields["name"]) or _name_from_host(rest),
        host=rest,
        address=reader.text(values, path, fields["address"], _address_problem),
        slots=reader.integer(values, path, fields["slots"]),
        ssh=ssh.with_defaults(general),
    )


def _complain_of_duplicates(reader: FieldReader, hosts: list[Host | None]) -> None:
    """Report hosts that have the name, the training address or the SSH target (`host:`, port and jump hosts) of an
    earlier host. `hosts` are in the order of the file; an entry is None if the host could not be parsed."""
    seen: dict[tuple[str, object], int] = {}
    for index, host in enumerate(hosts):
        if host is None:
            continue
        marks: list[tuple[str, object]] = [
            ("name", host.name),
            ("host", (host.host, host.ssh.port or 22, host.ssh.jump)),
        ]
        if host.address:
            marks.append(("address", host.address))
        for kind, mark in marks:
            first = seen.setdefault((kind, mark), index)
            if first != index:
                shown = host.name if kind == "name" else host.address if kind == "address" else host.host
                reader.complain(("hosts", index), f"the {kind} {quoted(str(shown))} is already that of hosts/{first}")
                break


def _ssh(reader: FieldReader, values: Values, path: KeyPath, field: Field) -> SshSettings:
    path = (*path, field.name)
    found = reader.group(values.get(field.name), path, field, "ssh settings")
    fields = {field.name: field for field in field.fields}
    return SshSettings(
        user=reader.text(found, path, fields["user"]),
        port=reader.integer(found, path, fields["port"]),
        key=reader.text(found, path, fields["key"]),
        jump=reader.text(found, path, fields["jump"]),
        handshake_timeout=reader.integer(found, path, fields["handshake_timeout"]),
    )


def _env(reader: FieldReader, value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        got = reader.describe_value(value, ("env",))
        reader.complain(("env",), f"should be a mapping of names to values, got {got}")
        return {}
    env: dict[str, str] = {}
    for name, item in value.items():
        path = ("env", name)
        if not re.fullmatch(ENV_NAME_PATTERN, name):
            reader.complain(path, "is not a name that an environment variable can have")
        elif isinstance(item, bool):
            reader.complain(path, f"should be text, got {reader.describe_value(item, path)}; put it in quotes")
        elif isinstance(item, str) and not re.fullmatch(ENV_VALUE_PATTERN, item):
            reader.complain(path, "contains a NUL character, which no environment can carry")
        elif isinstance(item, (str, int, float)):
            env[name] = item if isinstance(item, str) else reader.document.texts[path]
        else:
            reader.complain(path, f"should be text, got {reader.describe_value(item, path)}")
    return env


def _mounts(reader: FieldReader, value: object) -> tuple[Mount, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        got = reader.describe_value(value, ("mounts",))
        reader.complain(("mounts",), f'should be a list such as ["/data:/data:ro"], got {got}')
        return ()
    mounts = [_mount(reader, item, ("mounts", index)) for index, item in enumerate(value)]
    return tuple(mount for mount in mounts if mount)


def _mount(reader: FieldReader, item: object, path: KeyPath) -> Mount | None:
    if not isinstance(item, str) or not re.fullmatch(MOUNT_PATTERN, item) or not is_safe_text(item):
        should = "should be /on/host:/in/container or /on/host:/in/container:ro"
        reader.complain(path, f"{should}, got {reader.describe_value(item, path)}")
        return None
    source, target, *mode = item.split(":")
    real = "/" + posixpath.normpath(target).strip("/")
    if any(f"{real}/".startswith(f"{own}/") or own.startswith(real.rstrip("/") + "/") for own in _RESERVED_PATHS):
        shown = shortened(target, MOST_SHOWN)
        reader.complain(path, f"{shown} is hvdocker's own folder in the container; choose another target")
        return None
    return Mount(source, target, mode == ["ro"])


def _keys(reader: FieldReader, top: Values, field: Field) -> KeyPair | None:
    if top.get(field.name) is None:
        return None
    path = (field.name,)
    values = reader.group(top[field.name], path, field, "private and public")
    private, public = (reader.text(values, path, half) for half in field.fields)
    if not private or not public:
        reader.complain(path, "needs both `private:` and `public:`")
        return None
    return KeyPair(private, public)


def _gpu_busy(reader: FieldReader, top: Values, field: Field) -> int:
    values = reader.group(top.get(field.name), (field.name,), field, "what is said of GPUs")
    (busy,) = field.fields
    return reader.size(values, (field.name,), busy) or BUSY_BYTES


def _rules(reader: FieldReader, value: object, field: Field) -> tuple[Rule, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        got = reader.describe_value(value, (field.name,))
        reader.complain((field.name,), f"should be a list such as {field.example}, got {got}")
        return ()
    rules = [_rule(reader, item, (field.name, index), field) for index, item in enumerate(value)]
    return tuple(rule for rule in rules if rule)


def _rule(reader: FieldReader, item: object, path: KeyPath, field: Field) -> Rule | None:
    values = reader.group(item, path, field, "match and then")
    if item is not None and not isinstance(item, dict):
        return None
    if any(values.get(part.name) is None for part in field.fields):
        reader.complain(path, "needs both `match:` and `then:`")
        return None
    pattern_field, then_field = field.fields
    pattern = reader.text(values, path, pattern_field, _pattern_problem)
    then = reader.text(values, path, then_field)
    return Rule(pattern, then) if pattern and then else None


def _pattern_problem(text: str) -> str | None:
    try:
        found = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression ({error})"
    return "would match every line, even an empty one" if found.search("") else None


def _network_problem(text: str) -> str | None:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return "should be a network such as 10.0.0.0/24"
    return None


def _address_problem(text: str) -> str | None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "should be an IP address (the training address)"
    return None


def _without_brackets(host: str) -> tuple[str, int | None]:
    """Split an address in brackets such as [::1]:2222 into host and port.

    Return a host without brackets unchanged, with None as its port."""
    found = _BRACKETS.fullmatch(host)
    if not found:
        return host, None
    return found[1], int(found[2]) if found[2] else None


def _host_problem(text: str) -> str | None:
    host, port = _without_brackets(text.rpartition("@")[2])
    if "[" in host or "]" in host or host.count(":") == 1:
        return "should be a host name or an address; with a port only as [address]:port"
    if port is not None and not 1 <= port <= MOST_PORT:
        return f"should have a port between 1 and {MOST_PORT}"
    return None


def _name_from_host(host: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", host).strip("-").lstrip("_.-") or "host"
