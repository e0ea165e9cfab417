"""The ssh command lines that log in to a host along the same way as the open connection, and that run a command there.
Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Ends the login and removes its folder when hvdocker ends, even if it is killed: then standard input ends. `ssh` itself
# would go on as long as another process uses it. Everything ends with `ssh`, and the shells end after it (`trap`).
_WHILE_INPUT_LASTS = (
    "trap : TERM; exec 3>&2 2>/dev/null; "
    '{ cat; rm -rf -- "$1"; kill 0; } | { trap : TERM; shift; (exec "$@" 2>&3); kill 0; }'
)
# Those that the open connection prefers come first; the default of ssh takes three times the processor time. OpenSSH
# 7.4 knows them all.
_KEY_EXCHANGES = (
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group-exchange-sha256",
    "diffie-hellman-group14-sha256",
)


@dataclass(frozen=True)
class OpensshHop:
    """One SSH server on the way to a host, as the open connection reached it.

    `alias` is the server's name in the known_hosts file that is made for the login. `key_type` and `key` are the host
    key that the server showed, as known_hosts writes them. `key_algorithm` is the signature algorithm of that key, and
    `cipher` is the cipher of the connection. `proxy_command` is the ProxyCommand that makes the connection, with its
    `%` tokens replaced; it is empty if there is none."""

    alias: str
    address: str
    port: int
    user: str
    key_type: str
    key: str
    key_algorithm: str
    cipher: str
    proxy_command: str = ""


@dataclass(frozen=True)
class LoginFiles:
    """The files of a login, in a `folder` of their own: `known_hosts`, `agent`, the socket of an SSH agent, and
    `control`, the socket through which other processes `ssh` use the login. The path of the folder has no character
    that means something in the settings of ssh."""

    folder: str

    @property
    def known_hosts(self) -> str:
        return f"{self.folder}/known_hosts"

    @property
    def agent(self) -> str:
        return f"{self.folder}/agent"

    @property
    def control(self) -> str:
        return f"{self.folder}/control"


def known_hosts_text(hops: Sequence[OpensshHop]) -> str:
    return "".join(f"{hop.alias} {hop.key_type} {hop.key}\n" for hop in hops)


def login_arguments(program: str, hops: Sequence[OpensshHop], files: LoginFiles) -> list[str]:
    """Return the command line of a process on the controller that stays logged in to the last of the `hops`, through
    those before it. Other `ssh` processes run their commands over this login, through the socket `files.control`.
    On the host only `cat` runs: it sends back what the process reads, which shows that the login works.

    The process ends when its standard input ends, so it ends with hvdocker, even if that is killed. Before it ends, it
    removes the folder of the `files` from the controller. `program` is the path of ssh."""
    proxy = hops[0].proxy_command
    for hop, target in pairwise(hops):
        forward = ("-W", f"[{target.address}]:{target.port}")
        proxy = shlex.join((program, *_options(hop, files, proxy), *forward, "--", hop.address))
    control = ("-o", "ControlMaster=yes", "-o", f"ControlPath={files.control}")
    login = (program, "-T", *_options(hops[-1], files, proxy), *control, "--", hops[-1].address, "exec cat")
    return ["/bin/sh", "-c", _WHILE_INPUT_LASTS, "sh", files.folder, *login]


def command_arguments(program: str, control: str, line: str) -> list[str]:
    """Return the command line of an `ssh` process that runs `line` in the login shell of the host. The process uses the
    login whose socket is `control`, and fails if that login has ended. `program` is the path of ssh."""
    settings = {
        "ControlPath": control,
        # If the login has ended, ssh would make a connection of its own. This command makes that fail.
        "ProxyCommand": "false",
        "BatchMode": "yes",
        "LogLevel": "ERROR",
    }
    return [program, "-T", *_as_options(settings), "--", "host", line]


def _options(hop: OpensshHop, files: LoginFiles, proxy: str) -> list[str]:
    """Return the options with which ssh logs in to the server `hop`. `proxy` is the ProxyCommand that makes the
    connection, empty if there is none."""
    settings = {
        "User": hop.user,
        "Port": str(hop.port),
        "BatchMode": "yes",
        "PreferredAuthentications": "publickey",
        "IdentityFile": "none",
        "IdentityAgent": files.agent,
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": files.known_hosts,
        "GlobalKnownHostsFile": "/dev/null",
        "HostKeyAlias": hop.alias,
        "HostKeyAlgorithms": hop.key_algorithm,
        "CheckHostIP": "no",
        "UpdateHostKeys": "no",
        "Ciphers": hop.cipher,
        "KexAlgorithms": ",".join(_KEY_EXCHANGES),
        "Compression": "no",
        "ConnectTimeout": "5",
        # As `keepalive` does: a host that does not answer for 30 s is lost.
        "ServerAliveInterval": "10",
        "ServerAliveCountMax": "2",
        "IPQoS": "cs0",  # none, in a word that OpenSSH before 7.6 knows too
        "LogLevel": "ERROR",
    }
    if proxy:
        settings["ProxyCommand"] = proxy.replace("%", "%%")
    return _as_options(settings)


def _as_options(settings: Mapping[str, str]) -> list[str]:
    # ssh reads no configuration file: the options already have what the files said when the connection was made.
    return ["-F", "/dev/null", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]
