"""Describes the servers and keys of an open connection and its jump hosts, so that ssh can log in the same way."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from hvdocker.transport.ssh.connect import proxy_command
from hvdocker.transport.ssh.openssh.arguments import OpensshHop
from hvdocker.transport.ssh.openssh.login_agent import LoginAgent

# A connection is `Any` here because fabric has no types.


def describe_hops(connections: Sequence[Any]) -> list[OpensshHop]:
    """Return a description of each server of the open connections: the jump hosts in order, then the host itself.

    The address of the first server is the IP address that was reached, because a host name may have several addresses.
    With a ProxyCommand no IP address is known, and the host name is used."""
    return [_describe(number, connection) for number, connection in enumerate(connections)]


def _describe(number: int, connection: Any) -> OpensshHop:
    transport = connection.transport
    key = transport.get_remote_server_key()
    proxy = "" if number else proxy_command(connection)
    return OpensshHop(
        alias=f"hop-{number}",
        address=connection.host if number or proxy else _numeric(transport.getpeername()),
        port=connection.port,
        user=connection.user,
        key_type=key.get_name(),
        key=key.get_base64(),
        key_algorithm=transport.host_key_type,
        cipher=transport.local_cipher,
        proxy_command=proxy,
    )


def _numeric(peer: tuple[Any, ...]) -> str:
    """Return the address of a socket's peer. A local address of IPv6 names its interface, such as `fe80::1%eth0`."""
    return socket.getnameinfo(peer, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0]


def accepted_key_type(connections: Sequence[Any]) -> str:
    """Return the type of the key that the host accepted (the last of the connections), such as `ssh-ed25519`.

    The connections are looked at in order: if one needed no key, return empty text, and if one used a key on a hardware
    token, return the type of that key (`sk-…`). In both cases `choose_pipe` does not choose ssh."""
    keys = [connection.connect_kwargs["auth_strategy"].accepted_key for connection in connections]
    types = [key.get_name() if key else "" for key in keys]
    return next((kind for kind in types if not kind or kind.startswith("sk-")), types[-1])


@contextmanager
def agent_for(connections: Sequence[Any], path: str) -> Iterator[None]:
    """Run an SSH agent at the socket `path` during the `with` block. The agent has the keys that the servers of the
    open connections accepted."""
    with ExitStack() as stack:
        logins = [connection.connect_kwargs["auth_strategy"] for connection in connections]
        keys = [stack.enter_context(login.signing_key()) for login in logins]
        stack.enter_context(LoginAgent(path, [key for key in keys if key]))
        yield
