"""Connects to the SSH agent on the controller: finds its socket, and lists its keys.

The socket is the one in $SSH_AUTH_SOCK, unless IdentityAgent in ~/.ssh/config names another. Paramiko's own agent class
reads only the variable."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

import paramiko
from paramiko.agent import AgentSSH
from paramiko.pkey import PublicBlob

from hvdocker.transport.ssh.certificates import with_certificate

VARIABLE = "SSH_AUTH_SOCK"
# Private names of paramiko's agent that are used here; a unit test checks that they exist.
AGENT_PRIVATE_NAMES = ("_connect", "_close")


def agent_socket(setting: str | None, tokens: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Return the path of the agent's socket, as OpenSSH chooses it. Return empty text if no agent is to be used.

    `setting` is the value of IdentityAgent in ~/.ssh/config: a path with `~`, `%` tokens and `${VARIABLE}`, or `none`,
    or SSH_AUTH_SOCK, or `$VARIABLE`. A `setting` of None means the variable SSH_AUTH_SOCK. `tokens` maps tokens such as
    `%h` to their values; it must have `%d`, the home folder. `environ` has the environment variables."""
    if not setting or setting == VARIABLE:
        return environ.get(VARIABLE, "")
    if setting.lower() == "none":
        return ""
    if variable := re.fullmatch(r"\$(\w+)", setting):
        return environ.get(variable[1], "")
    path = re.sub(r"\$\{(\w+)\}", lambda found: environ.get(found[1], ""), setting)
    path = re.sub("%.", lambda token: tokens.get(token[0], token[0]), path)
    return re.sub("^~(?=/|$)", tokens["%d"], path)


LIST_TIMEOUT_S = 5.0


class Agent(AgentSSH):
    """A connection to the SSH agent at the socket `path`. If `path` is empty or no agent answers there, `is_there` is
    False and the list of keys is empty."""

    def __init__(self, path: str, timeout_s: float = LIST_TIMEOUT_S) -> None:
        """Connect to the socket `path`, and list the keys within `timeout_s`."""
        super().__init__()
        self.is_there = False
        if not path:
            return
        wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # A forwarded agent of a laptop that sleeps accepts the connection and never lists its keys.
            wire.settimeout(timeout_s)
            wire.connect(path)
            self._connect(wire)  # type: ignore[attr-defined]  # AGENT_PRIVATE_NAMES
            # Signing may wait for the user to confirm.
            wire.settimeout(None)
            self.is_there = True
        except (OSError, paramiko.SSHException):
            wire.close()

    @property
    def keys(self) -> list[paramiko.PKey]:
        return [_usable(key) for key in self.get_keys()]

    def close(self) -> None:
        self._close()  # type: ignore[attr-defined]  # AGENT_PRIVATE_NAMES


def on_agent(key: paramiko.AgentKey, agent: AgentSSH) -> paramiko.AgentKey:
    """Return a copy of `key`, a key in an SSH agent, that signs through the agent connection `agent`. The original
    signs through the connection that listed it. The copy has the same certificate."""
    twin = paramiko.AgentKey(agent, key.blob, key.comment)
    twin.public_blob = key.public_blob
    return twin


def _usable(key: paramiko.AgentKey) -> paramiko.PKey:
    """Return the agent's key in a form that paramiko can log in with. A key with a certificate becomes a copy that
    offers the certificate: for an RSA certificate, paramiko itself would send the plain public key under the type name
    of the certificate."""
    plain: paramiko.PKey | None = getattr(key, "inner_key", None)
    blob: PublicBlob | None = plain.public_blob if plain is not None else None
    return key if blob is None else with_certificate(key, blob)
