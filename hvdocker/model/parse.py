"""Inventory text to an Inventory, or every problem at once with its line."""

from __future__ import annotations

import difflib
import ipaddress
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hvdocker.errors import InventoryError
from hvdocker.model import names
from hvdocker.model.document import Document, Path, read
from hvdocker.model.inventory import Host, Inventory, KeyPair, Mount, SshSettings, local_hosts
from hvdocker.model.units import parse_bytes

TOP_KEYS = (
    "cluster", "image", "port", "network", "ssh", "env", "mounts", "shm", "memory", "cpus", "user", "keys",
    "registry", "hosts", "local",
)  # fmt: skip
HOST_KEYS = ("host", "name", "address", "slots", "ssh")
SSH_KEYS = ("user", "port", "key", "jump")
KEY_KEYS = ("private", "public")

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = re.compile(r"[A-Za-z0-9_.:%\[\]-]+")
_BRACKETS = re.compile(r"\[([^\[\]]+)\](?::(\d{1,9}))?")
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_REGISTRY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:\d+)?(/[a-z0-9._-]+)*")
_NO_LOGIN = re.compile(r"""[\s\x00-\x1f\x7f-\x9f'`";&<>|(){}]|\\$""")
_IMAGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@+-]*")
_USER = re.compile(r"host|root|\d+:\d+")


def parse(text: str, source: str, default_cluster: str) -> Inventory:
    """`source` is how the file is called in messages; nothing is read but `text`."""
    document = read(text, source)
    if document.value is None:
        raise InventoryError(source, ["the file is empty; it needs at least `hosts:`"])
    reader = _Reader(document)
    inventory = _inventory(reader, default_cluster)
    if document.problems:
        raise InventoryError(source, document.problems)
    return inventory


@dataclass
class _Reader:
    """Reads typed values by path and writes down what is wrong instead of stopping."""

    document: Document

    def complain(self, path: Path, text: str) -> None:
        self.document.complain(path, text)

    def mapping(self, value: object, path: Path, known: tuple[str, ...], label: str) -> Mapping[str, object]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.complain(path, f"should be a mapping of {label}, got {_got(value)}")
            return {}
        for key in value:
            if key not in known and not key.startswith("x-"):
                self.complain((*path, key), f"unknown key{_nearest(key, known)}")
        return value

    def text(self, value: object, path: Path) -> str | None:
        if value is None or (isinstance(value, str) and value):
            return value
        # An unquoted 10 or 1.5 was meant as text.
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        self.complain(path, f"should be text, got {_got(value)}")
        return None

    def whole(self, value: object, path: Path, low: int, high: int | None = None) -> int | None:
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.complain(path, f"should be an integer, got {_got(value)}")
            return None
        if value < low or (high is not None and value > high):
            span = f"between {low} and {high}" if high is not None else f"at least {low}"
            self.complain(path, f"should be {span}, got {value}")
            return None
        return value

    def size(self, value: object, path: Path) -> int | None:
        if value is None:
            return None
        found = parse_bytes(str(value)) if isinstance(value, (str, int)) and value is not True else None
        if not found:
            self.complain(path, f"should be a size such as 16GB, got {_got(value)}")
        return found

    def checked(self, value: object, path: Path, problem: Callable[[str], str | None]) -> str | None:
        text = self.text(value, path)
        complaint = problem(text) if text is not None else None
        if complaint:
            self.complain(path, f"{complaint}, got {text!r}")
            return None
        return text


def _inventory(reader: _Reader, default_cluster: str) -> Inventory:
    top = reader.mapping(reader.document.value, (), TOP_KEYS, "settings")
    ssh = _ssh(reader, top.get("ssh"), ("ssh",))
    cpus = top.get("cpus")
    if cpus is not None and (
        not isinstance(cpus, (int, float)) or isinstance(cpus, bool) or not 0 < cpus < 1e6
    ):
        reader.complain(("cpus",), f"should be a number above 0, got {_got(cpus)}")
        cpus = None
    return Inventory(
        cluster=reader.checked(top.get("cluster"), ("cluster",), names.cluster_name_problem)
        or default_cluster,
        image=reader.checked(top.get("image"), ("image",), _image_problem) or names.DEFAULT_IMAGE,
        port=reader.whole(top.get("port"), ("port",), 1, 65535),
        network=reader.checked(top.get("network"), ("network",), _network_problem),
        env=_env(reader, top.get("env")),
        mounts=_mounts(reader, top.get("mounts")),
        shm_bytes=reader.size(top.get("shm"), ("shm",)),
        memory_bytes=reader.size(top.get("memory"), ("memory",)),
        cpus=float(cpus) if isinstance(cpus, (int, float)) else None,
        user=reader.checked(top.get("user"), ("user",), _user_problem) or "host",
        keys=_keys(reader, top.get("keys")),
        registry=reader.checked(top.get("registry"), ("registry",), _registry_problem),
        hosts=_hosts(reader, top, ssh),
    )


def _hosts(reader: _Reader, top: Mapping[str, object], ssh: SshSettings) -> tuple[Host, ...]:
    if "local" in top:
        return _local(reader, top)
    value = top.get("hosts")
    if not isinstance(value, list) or not value:
        got = "nothing" if value is None else _got(value)
        if isinstance(reader.document.value, dict):
            reader.complain(("hosts",), f"should be a list of at least one host, got {got}")
        return ()
    hosts = [_host(reader, item, ("hosts", index), ssh) for index, item in enumerate(value)]
    _complain_of_doubles(reader, hosts)
    return tuple(host for host in hosts if host)


def _local(reader: _Reader, top: Mapping[str, object]) -> tuple[Host, ...]:
    if "hosts" in top:
        reader.complain(("local",), "`local:` and `hosts:` exclude each other")
    if top["local"] is None:
        reader.complain(("local",), "should be a number of workers, got nothing")
    count = reader.whole(top["local"], ("local",), 1, 64)
    return local_hosts(count) if count else ()


def _host(reader: _Reader, item: object, path: Path, general: SshSettings) -> Host | None:
    # A host may be plain text; what is wrong with it is then said of the list's entry itself.
    host_path: Path = path if isinstance(item, str) else (*path, "host")
    if isinstance(item, str):
        item = {"host": item}
    fields = reader.mapping(item, path, HOST_KEYS, "host settings")
    if not fields:
        if item is None or item == {}:
            reader.complain(path, "this host is empty")
        return None
    if "host" not in fields:
        reader.complain(path, "this host has no `host:` (a name or an address)")
        return None
    host = reader.checked(fields["host"], host_path, _host_problem)
    if host is None:
        return None
    user, _, rest = host.rpartition("@")
    rest, port = _without_brackets(rest)
    ssh = _ssh(reader, fields.get("ssh"), (*path, "ssh"))
    ssh = SshSettings(user=user or None, port=port).over(ssh)
    return Host(
        name=reader.checked(fields.get("name"), (*path, "name"), _host_name_problem) or _as_name(rest),
        host=rest,
        address=reader.checked(fields.get("address"), (*path, "address"), _address_problem),
        slots=reader.whole(fields.get("slots"), (*path, "slots"), 1, 4096),
        ssh=ssh.over(general),
    )


def _complain_of_doubles(reader: _Reader, hosts: list[Host | None]) -> None:
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
                reader.complain(("hosts", index), f"the {kind} {shown!r} is already that of hosts/{first}")
                break


def _ssh(reader: _Reader, value: object, path: Path) -> SshSettings:
    fields = reader.mapping(value, path, SSH_KEYS, "ssh settings")
    return SshSettings(
        user=reader.checked(fields.get("user"), (*path, "user"), _login_problem),
        port=reader.whole(fields.get("port"), (*path, "port"), 1, 65535),
        key=reader.text(fields.get("key"), (*path, "key")),
        jump=reader.checked(fields.get("jump"), (*path, "jump"), _login_problem),
    )


def _env(reader: _Reader, value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        reader.complain(("env",), f"should be a mapping of names to values, got {_got(value)}")
        return {}
    env: dict[str, str] = {}
    for name, item in value.items():
        if not _ENV_NAME.fullmatch(name):
            reader.complain(("env", name), "is not a name that an environment variable can have")
        elif isinstance(item, bool):
            reader.complain(("env", name), f"should be text, got {_got(item)}; put it in quotes")
        elif "\0" in str(item):
            reader.complain(("env", name), "has a NUL character in it, which no environment can hold")
        elif isinstance(item, (str, int, float)):
            env[name] = str(item)
        else:
            reader.complain(("env", name), f"should be text, got {_got(item)}")
    return env


def _mounts(reader: _Reader, value: object) -> tuple[Mount, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        reader.complain(("mounts",), f'should be a list such as ["/data:/data:ro"], got {_got(value)}')
        return ()
    mounts = [_mount(reader, item, ("mounts", index)) for index, item in enumerate(value)]
    return tuple(mount for mount in mounts if mount)


def _mount(reader: _Reader, item: object, path: Path) -> Mount | None:
    parts = item.split(":") if isinstance(item, str) else []
    mode = parts[2] if len(parts) == 3 else "rw"
    if (
        len(parts) not in (2, 3)
        or not all(part.startswith("/") for part in parts[:2])
        or mode not in ("ro", "rw")
        or "\0" in str(item)
    ):
        reader.complain(
            path, f"should be /on/host:/in/container or /on/host:/in/container:ro, got {_got(item)}"
        )
        return None
    taken = (names.CODE_MOUNT, names.IN_CONTAINER, "/out", "/opt/hvdocker", "/etc/passwd")
    target = posixpath.normpath(f"/{parts[1].strip('/')}").rstrip("/")
    if any(target == own or target.startswith(f"{own}/") or own.startswith(f"{target}/") for own in taken):
        reader.complain(path, f"{parts[1]} is hvdocker's own folder in the container; choose another target")
        return None
    return Mount(parts[0], parts[1], mode == "ro")


def _keys(reader: _Reader, value: object) -> KeyPair | None:
    if value is None:
        return None
    fields = reader.mapping(value, ("keys",), KEY_KEYS, "private and public")
    private = reader.text(fields.get("private"), ("keys", "private"))
    public = reader.text(fields.get("public"), ("keys", "public"))
    if not private or not public:
        reader.complain(("keys",), "needs both `private:` and `public:`")
        return None
    return KeyPair(private, public)


def _registry_problem(text: str) -> str | None:
    if _REGISTRY.fullmatch(text):
        return None
    return "should be a registry such as registry.lab:5000 or registry.lab:5000/team, without https://"


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
    """An IPv6 address may stand in brackets, and then with a port, as ssh writes it: [::1]:2222."""
    found = _BRACKETS.fullmatch(host)
    if not found:
        return host, None
    return found[1], int(found[2]) if found[2] else None


def _host_problem(text: str) -> str | None:
    user, _, host = text.rpartition("@")
    host, port = _without_brackets(host)
    if port is not None and not 1 <= port <= 65535:
        return "should have a port between 1 and 65535"
    if "[" in host or "]" in host:
        return "should be a host name or an address; with a port only as [address]:port"
    if text.startswith("-") or not _HOST.fullmatch(host) or _login_problem(user):
        return "should be a host name or an address"
    return None


def _login_problem(text: str) -> str | None:
    """What ssh itself would take for an option, or hand to a shell (a ProxyCommand's)."""
    if text.startswith("-") or ",-" in text or _NO_LOGIN.search(text):
        return "should be plain words, without blanks and characters that a shell reads"
    return None


def _image_problem(text: str) -> str | None:
    return None if _IMAGE.fullmatch(text) else "should be an image such as doc-hvd:cpu"


def _host_name_problem(text: str) -> str | None:
    if _HOST_NAME.fullmatch(text):
        return None
    return "should be letters, digits, '-', '_' or '.'"


def _user_problem(text: str) -> str | None:
    return None if _USER.fullmatch(text) else "should be host, root or uid:gid"


def _as_name(host: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", host).strip("-") or "host"


def _nearest(key: str, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(known)}"


def _got(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if value is None:
        return "nothing"
    return str(value).lower() if isinstance(value, bool) else str(value)
