"""SSH login with the keys of the agent, key files, and their certificates.

Keys are tried in the order that asks for the fewest passphrases: agent keys that are also configured as files, key
files that need no passphrase or whose passphrase is known, the other keys of the agent. If none is accepted and a key
file needs a passphrase that is not known, `PassphraseRequired` names the file; `transport.session` asks the user once
for all hosts and logs in again. Keys on hardware tokens work only through an agent (untested).

Paramiko's own key search is not used: it opens an encrypted key once per host, asks for passphrases in threads, and
never tries a plain key after its certificate."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from paramiko.message import Message
from paramiko.pkey import PublicBlob

from hvdocker.errors import PassphraseRequired
from hvdocker.transport.ssh.agent import Agent, on_agent
from hvdocker.transport.ssh.certificates import certificate_for, with_certificate
from hvdocker.transport.ssh.connect_errors import HandshakeTimeout

_KEY_CLASSES: dict[str, type[paramiko.PKey]] = {
    "ssh-ed25519": paramiko.Ed25519Key,
    "ecdsa": paramiko.ECDSAKey,
    "ssh-rsa": paramiko.RSAKey,
}
_OPENSSH = "-----BEGIN OPENSSH PRIVATE"
_NO_ANSWER = "Authentication timeout."  # paramiko's words; it has no exception of its own for this
_MAGIC = b"openssh-key-v1\x00"


class OpenedKeys:
    """Opens key files for all hosts of one command, each file once, because decrypting a key file is slow on purpose.
    `passphrases` maps paths of key files to passphrases. Keys and passphrases stay in the memory of this process."""

    def __init__(self, passphrases: Mapping[str, str]) -> None:
        self._passphrases = passphrases
        self._opened: dict[str, paramiko.PKey] = {}
        self._lock = threading.Lock()

    def key(self, path: str) -> paramiko.PKey:
        """Return the private key in the file `path`. Raise PasswordRequiredException if its passphrase is missing or
        wrong, SSHException if the file has no usable key."""
        with self._lock:
            if path not in self._opened:
                self._opened[path] = _load_key(path, self._passphrases.get(path))
            return self._opened[path]


@dataclass(frozen=True)
class Login:
    """How one user logs in to one host. Paramiko calls `authenticate` after it has checked the host key.

    `files` are the private key files to try, and `keyring` opens them. `certificates` are the paths from
    CertificateFile in ~/.ssh/config. `is_agent_limited` (IdentitiesOnly) allows only those agent keys that are also in
    `files`. `agent_socket` is the path of the agent's socket, empty for no agent. `_tried` has the names of the keys
    that were tried so far. `_accepted` has the key that the server accepted."""

    user: str
    files: tuple[str, ...]
    keyring: OpenedKeys
    certificates: tuple[str, ...] = ()
    is_agent_limited: bool = False  # IdentitiesOnly: of the agent, use only keys that are also files
    agent_socket: str = ""
    _tried: list[str] = field(default_factory=list)
    _accepted: list[paramiko.PKey] = field(default_factory=list)

    @property
    def accepted(self) -> str:
        """The user and the accepted key, for display, such as `kim, key /home/kim/.ssh/id_ed25519`. Valid only after a
        successful login, because it names the key that was tried last."""
        return f"{self.user}, key {self._tried[-1]}" if self._tried else self.user

    @property
    def accepted_key(self) -> paramiko.PKey | None:
        """The key that the server accepted, or None if no login has succeeded yet."""
        return self._accepted[-1] if self._accepted else None

    @contextmanager
    def signing_key(self) -> Iterator[paramiko.PKey | None]:
        """Yield the accepted key for another login, None before the first. A key of the agent can sign until the end of
        the `with` block: the agent is connected to once more. Raise SSHException if it has ended."""
        key = self.accepted_key
        if not isinstance(key, paramiko.AgentKey):
            yield key
            return
        with closing(Agent(self.agent_socket)) as agent:
            if not agent.is_there:
                raise paramiko.SSHException(f"no agent answers at {self.agent_socket}")
            yield on_agent(key, agent)

    def authenticate(self, transport: paramiko.Transport) -> list[str]:
        """Try the keys until the server accepts one, then return an empty list, as paramiko expects.

        If the server accepts none, raise PassphraseRequired if a key file needs a passphrase that was not given, else
        AuthenticationException."""
        locked: list[str] = []
        with closing(Agent(self.agent_socket)) as agent:
            for name, key in self._keys(agent.keys, locked):
                if self._is_accepted(transport, name, key):
                    return []
        if locked and transport.is_active():
            raise PassphraseRequired(locked[0])
        raise paramiko.AuthenticationException(self._failure(agent.is_there))

    def _keys(self, of_agent: list[paramiko.PKey], locked: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
        """Yield (name for messages, key) for each key, in the order in which they are tried. `of_agent` are the agent's
        keys. A key file whose passphrase is missing or wrong is not yielded; its path is added to `locked`."""
        halves = {half: path for path in self.files if (half := _public_half(path))}
        named = [key for key in of_agent if key.asbytes() in halves]
        for key in named:
            yield from self._with_certificates(f"{halves[key.asbytes()]} (agent)", key)
        done = {halves[key.asbytes()] for key in named}
        for path in self.files:
            if path not in done:
                yield from self._keys_of_file(path, locked)
        for key in of_agent:
            if key not in named and not self.is_agent_limited:
                yield from self._with_certificates(f"{getattr(key, 'comment', '') or key.get_name()} (agent)", key)

    def _keys_of_file(self, path: str, locked: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
        try:
            key = self.keyring.key(path)
        except paramiko.PasswordRequiredException:
            locked.append(path)
        except paramiko.SSHException as error:
            self._tried.append(f"{path} ({error})")
        else:
            yield from self._with_certificates(path, key)

    def _with_certificates(self, name: str, key: paramiko.PKey) -> Iterator[tuple[str, paramiko.PKey]]:
        """Yield (name for messages, key) for the key with each of its certificates, then for the plain key, as OpenSSH
        does. `name` is the name of the plain key.

        Certificates come from CertificateFile in ~/.ssh/config and from the `-cert.pub` files beside the key files."""
        beside = [f"{path}-cert.pub" for path in self.files]
        for path in dict.fromkeys((*self.certificates, *beside)):
            if certificate := certificate_for(path, key):
                yield f"{name} with {path}", with_certificate(key, certificate)
        yield name, key

    def _is_accepted(self, transport: paramiko.Transport, name: str, key: paramiko.PKey) -> bool:
        if not transport.is_active():
            return False  # the server hung up after too many failures (MaxAuthTries)
        self._tried.append(name)
        try:
            more = transport.auth_publickey(self.user, key)
        except paramiko.BadAuthenticationType as error:
            allowed = ", ".join(error.allowed_types)
            raise paramiko.AuthenticationException(
                f"user {self.user}: the server takes no keys, only {allowed}"
            ) from error
        except paramiko.SSHException as error:
            if str(error) == _NO_ANSWER:
                raise HandshakeTimeout("login", transport.auth_timeout) from error
            return False
        if more:
            raise paramiko.AuthenticationException(
                f"user {self.user}: {name} was accepted, but the server also wants {', '.join(more)}"
            )
        self._accepted.append(key)
        return True

    def _failure(self, has_agent: bool) -> str:
        tried = ", ".join(self._tried) or "nothing: there is no key in ~/.ssh"
        missing = f"; no agent answers at {self.agent_socket}" if self.agent_socket else "; no agent is running"
        return f"user {self.user}; tried {tried}{'' if has_agent else missing}"


def is_passphrase_of(path: str, passphrase: str) -> bool:
    """Return whether the passphrase opens the private key file at `path`."""
    try:
        _load_key(path, passphrase)
    except paramiko.SSHException:
        return False
    return True


def _load_key(path: str, passphrase: str | None) -> paramiko.PKey:
    half = _public_half(path)
    name = Message(half).get_text() if half else ""
    known = [kind for start, kind in _KEY_CLASSES.items() if name.startswith(start)]
    problem: Exception | None = None
    for kind in known or _KEY_CLASSES.values():
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
    """Return the public key that belongs to the private key file `path`, in SSH's binary form, or None if it cannot be
    found. No passphrase is needed.

    A key file in OpenSSH's own format contains the public key unencrypted; for other formats the `.pub` file is
    read."""
    try:
        text = Path(path).read_text(encoding="ascii", errors="replace")
        if text.startswith(_OPENSSH):
            return _public_half_in_header(text)
        return PublicBlob.from_file(f"{path}.pub").key_blob
    except (OSError, ValueError, IndexError):
        # A file may be cut off anywhere, also in its first line.
        return None


def _public_half_in_header(text: str) -> bytes | None:
    body = base64.b64decode("".join(text.split("-----")[2].split()))
    if not body.startswith(_MAGIC):
        return None
    message = Message(body[len(_MAGIC) :])
    for _ in range(3):  # cipher, key derivation, its options
        message.get_binary()
    return message.get_binary() if message.get_int() == 1 else None
