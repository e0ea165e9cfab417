"""Makes the SSH keys of a cluster in memory. Private keys are sent into new containers as tar archives. They are never
written to a disk of the controller, a label, an environment or a command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hvdocker.errors import UsageProblem
from hvdocker.secret import Secret


@dataclass(frozen=True)
class SshKeyPair:
    """An ed25519 key pair in OpenSSH's text formats."""

    private: Secret[str]
    public: str


@dataclass(frozen=True)
class ClusterKeys:
    """The SSH keys inside a cluster. `client` is the key with which its containers log in to each other.
    `new_hosts` has the sshd host keys of the workers that are created now, by host. `host_publics` has the
    public host keys of all workers, by host."""

    client: SshKeyPair
    new_hosts: Mapping[str, SshKeyPair]
    host_publics: Mapping[str, str]


def make_pair() -> SshKeyPair:
    return _as_pair(Ed25519PrivateKey.generate())


def pair_from_private(text: str) -> SshKeyPair:
    """Return the pair of an ed25519 private key in OpenSSH's text format. Raise ValueError, TypeError or the
    cryptography library's UnsupportedAlgorithm if it is of another type, has a passphrase or cannot be read."""
    key = serialization.load_ssh_private_key(text.encode(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError("not an ed25519 key")
    return _as_pair(key)


def read_user_key_pair(private: Path, public: Path) -> SshKeyPair:
    """Read and check a key pair that the user provides. Raises UsageProblem if a file is missing or cannot be
    read, if the private key is not ed25519 or has a passphrase, or if the public key does not match."""
    fix = "make a pair with: ssh-keygen -t ed25519 -N '' -f keys/mine"
    for path in (private, public):
        if not path.is_file():
            raise UsageProblem(f"the key file {path} is not there", fix=fix)
    try:
        pair = pair_from_private(private.read_text(encoding="utf-8"))
        shown = public.read_text(encoding="utf-8").split()[:2]
    except OSError as error:
        raise UsageProblem(f"the key file {error.filename} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageProblem(
            f"{private} is not an ed25519 private key without a passphrase", lines=[str(error)], fix=fix
        ) from error
    if shown != pair.public.split():
        raise UsageProblem(f"{public} does not belong to {private}", fix=fix)
    return pair


def _as_pair(key: Ed25519PrivateKey) -> SshKeyPair:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return SshKeyPair(Secret(private.decode()), public.decode())
