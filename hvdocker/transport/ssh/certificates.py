"""User certificates (public keys signed by an authority): finds the certificate of a key, and makes a key send its
certificate at login."""

from __future__ import annotations

import copy

import paramiko
from paramiko.message import Message
from paramiko.pkey import PublicBlob


def certificate_for(path: str, key: paramiko.PKey) -> PublicBlob | None:
    """Return the certificate in the file `path` if it certifies the key `key`. Return None if it certifies another key
    or cannot be read.

    The public key in the certificate is compared with `key`. In the file, a type name and a nonce come before it."""
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
    """Return a copy of the key that offers the certificate to the server at login. The key itself is not changed."""
    if isinstance(key, paramiko.AgentKey):
        twin: paramiko.PKey = paramiko.AgentKey(key.agent, key.blob, key.comment)
    else:
        twin = copy.copy(key)
    twin.public_blob = certificate
    return twin
