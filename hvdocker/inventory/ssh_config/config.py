"""Loads ~/.ssh/config and the system's file, and looks up hosts in them as OpenSSH does. Contacts no host.

lines.py reads the files, match.py selects the options of a host, and paramiko expands tokens such as %h."""

from __future__ import annotations

import getpass
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from hvdocker.errors import UsageProblem
from hvdocker.inventory.inventory import Host
from hvdocker.inventory.origin import EffectiveSsh, Setting
from hvdocker.inventory.ssh_config.lines import SshConfigLine, SshConfigSource
from hvdocker.inventory.ssh_config.match import SshHostOptions, options_for_host

USER_CONFIG = "~/.ssh/config"
SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")

_DEFAULT_ORIGIN = "OpenSSH's default"
_OWN_DEFAULT_ORIGIN = "default"


@dataclass(frozen=True)
class SshConfig:
    """The user's and the system's OpenSSH configuration. Fabric uses this class in place of paramiko's SSHConfig
    and calls `lookup`.

    `user_lines` and `system_lines` are the lines of the two files. `system` is the path of the system's file. `notes`
    are messages for the user, about a file that was ignored."""

    user_lines: tuple[SshConfigLine, ...] = ()
    system_lines: tuple[SshConfigLine, ...] = ()
    system: str = str(SYSTEM_CONFIG)
    notes: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts on Host lines of the user's file and of files that it includes, in the order of the lines and each
        once.

        Patterns (`*`, `?`, `!`) are left out."""
        return tuple(dict.fromkeys(_host_names(self.user_lines)))

    def lookup(self, host: str) -> Mapping[str, Any]:
        """Return the host's options from both files, by option name in lower case, with tokens such as %h expanded.

        Values are `Any` because paramiko returns text or lists of text."""
        return _expand_tokens(self._options_for(host))

    def _options_for(self, host: str) -> SshHostOptions:
        return options_for_host(host, self.user_lines, self.system_lines)

    def effective_ssh(self, host: Host, origins: Mapping[str, str]) -> EffectiveSsh:
        """Return the host's SSH settings, each with its origin.

        A setting comes from the inventory, else from the user's or the system's file, else from the defaults. `key` and
        `handshake_timeout` are never taken from the files. `origins` maps an SSH setting in the inventory to its line,
        such as `ssh/user (line 4)`. It is one mapping of `Origins.ssh`."""
        found = self._options_for(host.host)
        said = _expand_tokens(found)

        def setting(name: str, ours: str | int | None, theirs: str, default: str | int | None) -> Setting:
            if ours is not None:
                return Setting(ours, origins.get(name, "the inventory"))
            if said.get(theirs) is not None:
                value = int(said[theirs]) if theirs == "port" and said[theirs].isdecimal() else said[theirs]
                return Setting(value, USER_CONFIG if theirs in found.own else self.system)
            return Setting(default, _DEFAULT_ORIGIN)

        jump = setting("jump", host.ssh.jump, "proxyjump", None)
        name = setting("host", None, "hostname", host.host)
        return EffectiveSsh(
            user=setting("user", host.ssh.user, "user", getpass.getuser()),
            port=setting("port", host.ssh.port, "port", 22),
            key=Setting(host.ssh.key, origins.get("key", "the inventory") if host.ssh.key else _DEFAULT_ORIGIN),
            jump=Setting(None, jump.origin) if str(jump.value).lower() == "none" else jump,
            handshake_timeout=Setting(
                host.ssh.handshake_limit_s, origins.get("handshake_timeout", _OWN_DEFAULT_ORIGIN)
            ),
            keys=() if host.ssh.key else key_files(None, said.get("identityfile", [])),
            address=name if name.value != host.host else None,
            has_proxy_command=jump.value is None and bool(said.get("proxycommand")),
        )


def load(home: Path | None = None, system_file: Path = SYSTEM_CONFIG) -> SshConfig:
    """Read ~/.ssh/config and the system's file. A missing file counts as empty.

    Raise UsageProblem if the user's file cannot be read or understood. If that is so for the system's file, the file is
    ignored and a note says so, because the user may not be allowed to correct it. `home` replaces the user's home
    folder, and `system_file` the path of the system's file."""
    home = home or Path.home()
    of_user = SshConfigSource(home / ".ssh", home)
    own = of_user.read(home / ".ssh" / "config")
    try:
        of_system, notes = SshConfigSource(system_file.parent, ignored=of_user.ignored).read(system_file), ()
    except UsageProblem as problem:
        return SshConfig(own, (), str(system_file), (f"{problem.what}; {system_file} is left out",))
    return SshConfig(own, of_system, str(system_file), notes)


def _expand_tokens(said: SshHostOptions) -> Mapping[str, Any]:
    """Return the options of a host after paramiko has expanded tokens such as %h and removed quotes.

    Canonicalize options are left out, because match.py has already applied them. `ProxyCommand none` is left out too.
    Values are `Any` because paramiko returns text or lists of text."""
    lines = [
        f'{name} "{value}"'
        for name, values in said.values.items()
        for value in values
        if not name.startswith("canonical") and (name, value.lower()) != ("proxycommand", "none")
    ]
    config: Any = paramiko.SSHConfig.from_text("\n".join(lines))  # Any: its stubs are behind
    return config.lookup(said.host)  # type: ignore[no-any-return]  # Any, as above


def _host_names(lines: Iterable[SshConfigLine]) -> Iterator[str]:
    for line in lines:
        if line.keyword == "host":
            yield from (word for word in line.arguments if not re.search(r"[*?!]", word))
        for file in line.files:
            yield from _host_names(file)


def key_files(configured: str | None, of_config: Iterable[str]) -> tuple[str, ...]:
    """Return the private key files to try.

    If the inventory sets a key (`configured`), only that file is tried; raise UsageProblem if it is missing. Otherwise
    return the files that exist among the IdentityFiles of ~/.ssh/config (`of_config`) and the usual names in ~/.ssh, in
    this order."""
    if configured:
        path = Path(configured).expanduser()
        if not path.is_file():
            raise UsageProblem(
                f"the SSH key {configured} is not there",
                command=shlex.join(("ls", "-l", str(path))),
                lines=[f"there is no file {path}"],
                fix=f"correct `ssh: {{key: …}}`, or: ssh-keygen -t ed25519 -f {shlex.quote(str(path))}",
            )
        return (str(path),)
    usual = [Path.home() / ".ssh" / name for name in ("id_ed25519", "id_ecdsa", "id_rsa")]
    named = [Path(name).expanduser() for name in of_config]
    return tuple(dict.fromkeys(str(path) for path in (*named, *usual) if path.is_file()))
