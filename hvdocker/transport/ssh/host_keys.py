"""Decides which host keys are trusted: those in known_hosts, and new keys only if the user accepts them.

The files are read as OpenSSH reads them, with hashed names, patterns and `@revoked` keys. Paramiko does not support
host certificates. If known_hosts has only a certificate authority for a host (`@cert-authority`), the plain key of the
host counts as unknown, and UnknownHostKey explains why. Paramiko's HostKeys class is not used. It reads the file for
every host, in time that grows with the square of the file's size, and it fails on `@cert-authority`."""

from __future__ import annotations

import base64
import binascii
import fnmatch
import hashlib
import hmac
import os
import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from hvdocker.errors import HostUnreachable, UnknownHostKey

# A host as known_hosts writes it, and the key (base64) that the user accepted for it.
AcceptedKey = tuple[str, str]

AUTHORITY = "@cert-authority"
REVOKED = "@revoked"


@dataclass(frozen=True)
class KnownHostsLine:
    """One line of a known_hosts file. `marker` is `@cert-authority`, `@revoked` or empty. `names` are the host names,
    hashes or patterns that the line applies to. `key` is the decoded key, `key_type` its type, such as `ssh-ed25519`.
    `fault` is empty, or, if the key cannot be read, says where the line is (`line 3 of FILE`); `key` is then empty."""

    marker: str
    names: tuple[str, ...]
    key_type: str
    key: bytes
    fault: str = ""

    def is_about(self, entry: str) -> bool:
        """Return whether the line applies to `entry`, a host as known_hosts writes it: a name of the line
        matches, and no negated (`!`) name matches."""
        if any(name.startswith("!") and _matches(entry, name[1:]) for name in self.names):
            return False
        return any(_matches(entry, name) for name in self.names)


class KnownHosts:
    """The lines of the known_hosts files, read once for all hosts of a command."""

    def __init__(self) -> None:
        self._lines: dict[Path, tuple[KnownHostsLine, ...]] = {}
        self._lock = threading.Lock()

    def about(self, entry: str, files: Iterable[Path]) -> list[KnownHostsLine]:
        """Return the lines of the known_hosts `files` that are about `entry`, a host as known_hosts writes it:
        `gpu-a`, or `[gpu-a]:2222`. A file that is missing has no lines."""
        return [line for path in files for line in self._read(path) if line.is_about(entry)]

    def _read(self, path: Path) -> tuple[KnownHostsLine, ...]:
        with self._lock:
            if path not in self._lines:
                self._lines[path] = tuple(_lines(path)) if path.is_file() else ()
            return self._lines[path]


class HostKeyPolicy(paramiko.MissingHostKeyPolicy):
    """Decides whether the key of one host is trusted. Paramiko itself is given no known keys, so it calls
    `missing_host_key` for every key that a host shows.

    An unknown key raises UnknownHostKey. The error contains the key, so that the user can see and accept it."""

    def __init__(
        self,
        name: str,
        entry: str,
        known_hosts: Path,
        lines: Collection[KnownHostsLine],
        accepted: Collection[AcceptedKey] = (),
    ) -> None:
        """Use these keys for the decision: `lines`, the lines of known_hosts about the host, and `accepted`, the keys
        that the user has accepted during this command.

        `name` is the host in error messages, and `entry` is the host as known_hosts writes it (`[gpu-a]:2222`).
        `known_hosts` is the file to which a key that the user accepts will be written; it becomes part of
        UnknownHostKey."""
        self._name = name
        self._entry = entry
        self._known_hosts = known_hosts
        self._accepted = accepted
        self._known = [line for line in lines if not line.marker and not line.fault]
        self._faults = [line.fault for line in lines if line.fault]
        self._revoked = {line.key for line in lines if line.marker == REVOKED and not line.fault}
        self._has_authority = any(line.marker == AUTHORITY for line in lines)

    @property
    def key_types(self) -> frozenset[str]:
        """The types of the host's keys in known_hosts. A host with keys of several types is asked for a key of one of
        these types."""
        return frozenset(line.key_type for line in self._known)

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        """Return if the key is in known_hosts or was accepted by the user. Raise HostUnreachable if the key is revoked,
        BadHostKeyException if known_hosts has only other keys of the host, and UnknownHostKey if it has no key of the
        host. `client` and `hostname`, which paramiko passes, are ignored."""
        shown = key.asbytes()
        if shown in self._revoked:
            raise self._revoked_error(key)
        if any(line.key == shown for line in self._known):
            return
        if known := self._known:
            expected: Any = _StoredKey(known[0])  # Any: a key in all but type; paramiko may not know its kind
            raise paramiko.BadHostKeyException(self._entry, key, expected)
        if (self._entry, key.get_base64()) not in self._accepted:
            raise self._unknown_error(key)

    def _revoked_error(self, key: paramiko.PKey) -> HostUnreachable:
        error = HostUnreachable(
            f"the host key is revoked: {key.get_name()} {fingerprint(key.asbytes())}",
            host=self._name,
            lines=[f"a line of {self._known_hosts} begins with @revoked and has this key"],
            fix="beware: ask the administrator of the host for its new key",
        )
        error.stage = "hostkey"
        return error

    def _unknown_error(self, key: paramiko.PKey) -> UnknownHostKey:
        error = UnknownHostKey(
            self._name,
            self._entry,
            key.get_name(),
            key.get_base64(),
            fingerprint(key.asbytes()),
            str(self._known_hosts),
        )
        if self._has_authority:
            error.lines = (
                "known_hosts names a certificate authority for it (@cert-authority), but host certificates",
                "cannot be checked here, because paramiko does not know them: its plain key is needed",
            )
        if self._faults:
            fault = f"{', '.join(self._faults)} is about {self._entry}, but is no host key"
            error.lines = (fault, *(error.lines if self._has_authority else ()))
        return error


@dataclass(frozen=True)
class _StoredKey:
    """A key of known_hosts in a form that paramiko's BadHostKeyException accepts. Paramiko's own key classes are not
    used, because known_hosts may have a key of a type that paramiko does not know."""

    line: KnownHostsLine

    def get_name(self) -> str:
        return self.line.key_type

    def get_base64(self) -> str:
        return base64.b64encode(self.line.key).decode()


def fingerprint(key: bytes) -> str:
    """Return the fingerprint of a public key as `ssh-keygen -l` prints it (`SHA256:…`). `key` is the decoded key, not
    base64."""
    digest = hashlib.sha256(key).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def user_known_hosts(home: Path) -> Path:
    return home / ".ssh" / "known_hosts"


def entry_for(host: str, port: int) -> str:
    """Return the host as known_hosts writes it: `gpu-a` for port 22, `[gpu-a]:2222` for any other port."""
    return host if port == 22 else f"[{host}]:{port}"


def append_known_host(key: UnknownHostKey, path: Path) -> None:
    """Append the key to a known_hosts file, as OpenSSH does. Do nothing if the path exists but is not a regular file:
    with `UserKnownHostsFile /dev/null` the user says that no keys are to be stored."""
    if not path.is_file() and path.exists():
        # UserKnownHostsFile /dev/null: the user wants no keys to be stored.
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


def _lines(path: Path) -> Iterator[KnownHostsLine]:
    """Yield the lines of the known_hosts file `path`. Comments and lines with fewer than three words are skipped.

    A line whose key cannot be read, because the line is of an old version of SSH or was cut off, is yielded with a
    `fault`. Such a line raises no error, because it may be about another host; OpenSSH skips it too."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, raw in enumerate(text.split("\n"), 1):
        words = raw.split()
        if not words or words[0].startswith("#"):
            continue
        marker = words.pop(0) if words[0].startswith("@") else ""
        if len(words) < 3:
            continue
        key = _key(words[1], words[2])
        fault = "" if key else f"line {number} of {path}"
        yield KnownHostsLine(marker, tuple(words[0].split(",")), words[1], key or b"", fault)


def _key(key_type: str, text: str) -> bytes | None:
    """Return the key that `text` contains in base64. Return None if it cannot be decoded or is no key of the type
    `key_type`. The bytes of a key begin with the name of its type."""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    name = key_type.encode()
    return key if key[4 : 4 + len(name)] == name else None


def _matches(entry: str, name: str) -> bool:
    if name == entry:
        return True
    if name.startswith("|1|"):
        return _is_hash_of(entry, name)
    if "*" not in name and "?" not in name:
        return False
    # The brackets of [host]:port are not a character class.
    return fnmatch.fnmatchcase(entry.lower(), name.lower().replace("[", "[[]"))


def _is_hash_of(entry: str, name: str) -> bool:
    """Return whether `name` is the hash of `entry`. OpenSSH writes hashed names (`|1|salt|digest`) if
    `HashKnownHosts yes` is set."""
    _, _, salt, digest = (*name.split("|"), "", "")[:4]
    try:
        return hmac.digest(base64.b64decode(salt), entry.encode(), "sha1") == base64.b64decode(digest)
    except ValueError:
        return False
