"""User certificates: found beside a key, and sent with it."""

from __future__ import annotations

import copy

import paramiko
from paramiko.message import Message
from paramiko.pkey import PublicBlob


def certificate_for(path: str, key: paramiko.PKey) -> PublicBlob | None:
    """Return the certificate at that path if it certifies this key, else None.

    To compare them, the type name and a nonce are skipped in the certificate, and the type name in the key."""
    try:
        blob = PublicBlob.from_file(path)
    except (OSError, ValueError):
        return None
    message, plain = Message(blob.key_blob), Message(key.asbytes())
    message.get_binary()
    message.get_binary()
    plain.get_binary()
    return blob if message.get_remainder().startswith(plain.get_remainder()) else None


def with_certificate(key: paramiko.PKey, certificate: PublicBlob) -> paramiko.PKey:
    """Return a copy of the key that is sent with the certificate."""
    if isinstance(key, paramiko.AgentKey):
        twin: paramiko.PKey = paramiko.AgentKey(key.agent, key.blob, key.comment)
    else:
        twin = copy.copy(key)
    twin.public_blob = certificate
    return twin
