"""Logging in: keys of the agent, key files, and the certificates that belong to them.

Tried in this order, so that nobody is asked needlessly: keys of the agent that are also named as files, key
files that open without a question, the agent's other keys. A file behind a passphrase comes last: then
`LockedKey` says which, a person is asked once for all hosts, and the login is tried again."""

from __future__ import annotations

import base64
import copy
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from paramiko.message import Message
from paramiko.pkey import PublicBlob

from hvdocker.errors import LockedKey

_KINDS: dict[str, type[paramiko.PKey]] = {
    "ssh-ed25519": paramiko.Ed25519Key,
    "ecdsa": paramiko.ECDSAKey,
    "ssh-rsa": paramiko.RSAKey,
}
_OPENSSH = "-----BEGIN OPENSSH PRIVATE"
_MAGIC = b"openssh-key-v1\x00"


class Keyring:
    """Key files that were opened, for all hosts of one command: a passphrase is asked for, and its slow hash
    reckoned, once. Nothing of it leaves the memory of this process."""

    def __init__(self, passphrases: Mapping[str, str]) -> None:
        self._passphrases = passphrases
        self._opened: dict[str, paramiko.PKey] = {}
        self._lock = threading.Lock()

    def key(self, path: str) -> paramiko.PKey:
        """Raises PasswordRequiredException where a passphrase is missing or wrong."""
        with self._lock:
            if path not in self._opened:
                self._opened[path] = _load(path, self._passphrases.get(path))
            return self._opened[path]


@dataclass(frozen=True)
class Login:
    """One user's ways into one host; paramiko calls `authenticate` when the host has shown its key."""

    user: str
    files: tuple[str, ...]
    keyring: Keyring
    certificates: tuple[str, ...] = ()
    is_agent_limited: bool = False  # IdentitiesOnly: of the agent's keys only those that are files too
    _tried: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> str:
        """Who got in, and by which key, once it is accepted: nothing is tried after that."""
        return f"{self.user}, key {self._tried[-1]}" if self._tried else self.user

    def authenticate(self, transport: paramiko.Transport) -> list[str]:
        """Nothing is left to be done after the first key that is accepted."""
        locked: list[str] = []
        with closing(_Agent()) as agent:
            for name, key in self._keys(agent.keys, locked):
                if self._is_accepted(transport, name, key):
                    return []
        if locked and transport.is_active():
            raise LockedKey(locked[0])
        raise paramiko.AuthenticationException(self._failure(agent.is_there))

    def _keys(self, of_agent: list[paramiko.PKey], locked: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
        """Files that wait for a passphrase are written down in `locked`."""
        halves = {half: path for path in self.files if (half := _public_half(path))}
        named = [key for key in of_agent if key.asbytes() in halves]
        for key in named:
            yield from self._forms(f"{halves[key.asbytes()]} (agent)", key)
        done = {halves[key.asbytes()] for key in named}
        for path in self.files:
            if path not in done:
                yield from self._forms_of_file(path, locked)
        for key in of_agent:
            if key not in named and not self.is_agent_limited:
                yield from self._forms(f"{getattr(key, 'comment', '') or key.get_name()} (agent)", key)

    def _forms_of_file(self, path: str, locked: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
        try:
            key = self.keyring.key(path)
        except paramiko.PasswordRequiredException:
            locked.append(path)
        except paramiko.SSHException as error:
            self._tried.append(f"{path} ({error})")
        else:
            yield from self._forms(path, key)

    def _forms(self, name: str, key: paramiko.PKey) -> Iterator[tuple[str, paramiko.PKey]]:
        """A key with each certificate for it, then the plain key, as OpenSSH does."""
        beside = [f"{path}-cert.pub" for path in self.files]
        for path in dict.fromkeys((*self.certificates, *beside)):
            if certificate := _certificate(path, key):
                yield f"{name} with {path}", _certified(key, certificate)
        yield name, key

    def _is_accepted(self, transport: paramiko.Transport, name: str, key: paramiko.PKey) -> bool:
        if not transport.is_active():
            return False  # a server closes after some failures (MaxAuthTries)
        self._tried.append(name)
        try:
            more = transport.auth_publickey(self.user, key)
        except paramiko.BadAuthenticationType as error:
            allowed = ", ".join(error.allowed_types)
            raise paramiko.AuthenticationException(
                f"user {self.user}: the server takes no keys, only {allowed}"
            ) from error
        except paramiko.SSHException:
            return False
        if more:
            raise paramiko.AuthenticationException(
                f"user {self.user}: {name} was accepted, but the server also wants {', '.join(more)}"
            )
        return True

    def _failure(self, has_agent: bool) -> str:
        tried = ", ".join(self._tried) or "nothing: there is no key in ~/.ssh"
        return f"user {self.user}; tried {tried}{'' if has_agent else '; no agent is running'}"


class _Agent:
    """A connection to the running agent, for the time of one login; where there is none it has no keys."""

    def __init__(self) -> None:
        self.is_there = bool(os.environ.get("SSH_AUTH_SOCK"))
        self._agent = paramiko.Agent() if self.is_there else None
        self.keys = [_of_agent(key) for key in self._agent.get_keys()] if self._agent else []

    def close(self) -> None:
        if self._agent:
            self._agent.close()


def opens(path: str, passphrase: str) -> bool:
    try:
        _load(path, passphrase)
    except paramiko.SSHException:
        return False
    return True


def _load(path: str, passphrase: str | None) -> paramiko.PKey:
    half = _public_half(path)
    name = Message(half).get_text() if half else ""
    known = [kind for start, kind in _KINDS.items() if name.startswith(start)]
    problem: Exception | None = None
    for kind in known or _KINDS.values():
        try:
            return kind.from_private_key_file(path, passphrase)
        except paramiko.PasswordRequiredException:
            raise
        except (paramiko.SSHException, ValueError, OSError) as error:
            problem = error
    if passphrase:
        raise paramiko.PasswordRequiredException(f"{path}: this is not its passphrase") from problem
    raise paramiko.SSHException(f"not a key that can be used: {problem}") from problem


def _public_half(path: str) -> bytes | None:
    """Of a private key file, without opening it: OpenSSH's own format carries it in the clear."""
    try:
        text = Path(path).read_text(encoding="ascii", errors="replace")
        if text.startswith(_OPENSSH):
            return _header(text)
        return PublicBlob.from_file(f"{path}.pub").key_blob
    except (OSError, ValueError):
        return None


def _header(text: str) -> bytes | None:
    body = base64.b64decode("".join(text.split("-----")[2].split()))
    if not body.startswith(_MAGIC):
        return None
    message = Message(body[len(_MAGIC) :])
    for _ in range(3):  # cipher, key derivation, its options
        message.get_binary()
    return message.get_binary() if message.get_int() == 1 else None


def _certificate(path: str, key: paramiko.PKey) -> PublicBlob | None:
    """What lies at that path, where it certifies this key: after the certificate's name and nonce comes the
    key, as in the key's own blob after its name."""
    try:
        blob = PublicBlob.from_file(path)
    except (OSError, ValueError):
        return None
    message, plain = Message(blob.key_blob), Message(key.asbytes())
    message.get_binary()
    message.get_binary()
    plain.get_binary()
    return blob if message.get_remainder().startswith(plain.get_remainder()) else None


def _certified(key: paramiko.PKey, certificate: PublicBlob) -> paramiko.PKey:
    if isinstance(key, paramiko.AgentKey):
        twin: paramiko.PKey = paramiko.AgentKey(key.agent, key.blob, key.comment)
    else:
        twin = copy.copy(key)
    twin.public_blob = certificate
    return twin


def _of_agent(key: paramiko.AgentKey) -> paramiko.PKey:
    """An RSA certificate that the agent holds is offered as what it is: paramiko would send the plain key
    under the certificate's name."""
    plain: paramiko.PKey | None = getattr(key, "inner_key", None)
    if plain is None or plain.public_blob is None:
        return key
    return _certified(key, plain.public_blob)
