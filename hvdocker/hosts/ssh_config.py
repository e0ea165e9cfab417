"""~/.ssh/config and the system's, as OpenSSH reads them, Include and all (paramiko knows no Include). Reading
connects to nothing."""

from __future__ import annotations

import getpass
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko

from hvdocker.errors import UsageProblem
from hvdocker.hosts.login import key_files
from hvdocker.model.inventory import Host
from hvdocker.model.origin import Reach, Setting

OWN = "~/.ssh/config"
SYSTEM = Path("/etc/ssh/ssh_config")
MOST_INCLUDES = 16

_LINE = re.compile(r"\s*(\w+)(?:\s*=\s*|\s+)(.*?)\s*")
_DEFAULT = "OpenSSH's default"


@dataclass(frozen=True)
class SshConfig:
    """`everything` is what counts; `own` is the user's part of it, to tell where a setting stands."""

    everything: Any = field(default_factory=paramiko.SSHConfig)  # Any: its stubs are behind
    own: Any = field(default_factory=paramiko.SSHConfig)  # Any: as above
    hosts: tuple[str, ...] = ()
    system: str = str(SYSTEM)

    def lookup(self, host: str) -> Mapping[str, Any]:
        """Any: what paramiko makes of values: text, or lists of it."""
        with _translated():
            return self.everything.lookup(host)  # type: ignore[no-any-return]  # Any, as above

    def reach(self, host: Host, origins: Mapping[str, str]) -> Reach:
        """`origins` says where in the inventory a setting stands that stands there."""
        said = self.lookup(host.host)
        with _translated():
            own = self.own.lookup(host.host)

        def setting(name: str, ours: str | int | None, theirs: str, default: str | int | None) -> Setting:
            if ours is not None:
                return Setting(ours, origins.get(name, "the inventory"))
            if said.get(theirs) is not None:
                value = int(said[theirs]) if theirs == "port" and said[theirs].isdecimal() else said[theirs]
                return Setting(value, OWN if theirs in own else self.system)
            return Setting(default, _DEFAULT)

        jump = setting("jump", host.ssh.jump, "proxyjump", None)
        name = setting("host", None, "hostname", host.host)
        return Reach(
            user=setting("user", host.ssh.user, "user", getpass.getuser()),
            port=setting("port", host.ssh.port, "port", 22),
            key=Setting(host.ssh.key, origins.get("key", "the inventory") if host.ssh.key else _DEFAULT),
            jump=Setting(None, jump.origin) if str(jump.value).lower() == "none" else jump,
            keys=() if host.ssh.key else key_files(None, said.get("identityfile", [])),
            address=name if name.value != host.host else None,
            has_proxy_command=jump.value is None and bool(said.get("proxycommand")),
        )


def load(home: Path | None = None, system_file: Path = SYSTEM) -> SshConfig:
    home = home or Path.home()
    own = "\n".join(_expanded(home / ".ssh" / "config", home / ".ssh"))
    system = "\n".join(_expanded(system_file, system_file.parent))
    with _translated():
        return SshConfig(
            everything=paramiko.SSHConfig.from_text(f"{own}\nHost *\n{system}\n"),
            own=paramiko.SSHConfig.from_text(own),
            hosts=_names(own),
            system=str(system_file),
        )


@contextmanager
def _translated() -> Iterator[None]:
    """What paramiko says of a file that it cannot read, in our own words."""
    try:
        yield
    except (paramiko.ConfigParseError, paramiko.CouldNotCanonicalize, ValueError, KeyError) as error:
        raise UsageProblem(
            f"{OWN} (or {SYSTEM}) cannot be understood: {error}", fix="see what ssh makes of it: ssh -G host"
        ) from error


def _expanded(path: Path, base: Path, above: tuple[Path, ...] = ()) -> Iterator[str]:
    """The file's lines, with those of the files that it includes in their place. After them the block goes
    on that they stand in."""
    block = "Host *"
    if path in above or len(above) > MOST_INCLUDES:
        return
    for line in _lines(path):
        found = _LINE.fullmatch(line)
        word = found[1].lower() if found else ""
        if not found or word != "include":
            block = line if word in ("host", "match") else block
            yield line
            continue
        for included in _included(found[2], base):
            yield from _expanded(included, base, (*above, path))
            yield block


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return []
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror or error}") from error


def _included(value: str, base: Path) -> Iterator[Path]:
    """Relative paths are relative to the folder of the configuration; what is not there is left out."""
    for pattern in _words(value):
        path = base.parent / pattern[2:] if pattern.startswith("~/") else base / pattern
        if path.parts[1:]:
            yield from sorted(Path(path.anchor).glob("/".join(path.parts[1:])))


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:
        return []


def _names(text: str) -> tuple[str, ...]:
    """Hosts by name, in the order of the file; patterns are no hosts."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match and match[1].lower() == "host":
            found |= dict.fromkeys(word for word in _words(match[2]) if not re.search(r"[*?!]", word))
    return tuple(found)
