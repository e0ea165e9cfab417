"""Which host keys are believed: those in known_hosts, and new ones only where a person said so."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Collection
from pathlib import Path

import paramiko
from paramiko.hostkeys import InvalidHostKey

from hvdocker.errors import UnknownHostKey, UsageProblem

# A host as known_hosts names it, and the key that a person accepted for it.
Accepted = tuple[str, str]


class RefuseUnknown(paramiko.MissingHostKeyPolicy):
    """Turns an unknown key into an error that carries the key, so that it can be shown and accepted."""

    def __init__(self, name: str, known_hosts: Path, accepted: Collection[Accepted] = ()) -> None:
        self.name = name
        self.known_hosts = known_hosts
        self.accepted = accepted

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        if (hostname, key.get_base64()) in self.accepted:
            return
        raise UnknownHostKey(
            self.name,
            hostname,
            key.get_name(),
            key.get_base64(),
            fingerprint(key.asbytes()),
            str(self.known_hosts),
        )


def fingerprint(key: bytes) -> str:
    """As ssh-keygen -l prints it."""
    digest = hashlib.sha256(key).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def user_known_hosts(home: Path) -> Path:
    return home / ".ssh" / "known_hosts"


def load_known_hosts(client: paramiko.SSHClient, files: list[Path]) -> None:
    for path in files:
        if path.is_file():
            try:
                client.load_system_host_keys(str(path))
            except (InvalidHostKey, UnicodeDecodeError) as error:
                raise UsageProblem(f"{path} has a line that is no host key", lines=[str(error)]) from error


def remember(key: UnknownHostKey, path: Path) -> None:
    """Appends one line, as OpenSSH would."""
    if not path.is_file() and path.exists():
        # UserKnownHostsFile /dev/null: the person wants nothing remembered.
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = f"{key.entry} {key.key_type} {key.key_base64}\n".encode()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(descriptor, line)
    finally:
        os.close(descriptor)
