"""An SSH agent in hvdocker's own process. Through it, the program ssh logs in with the keys that the servers of the
open connections accepted.

The agent exists only during a login, on a socket in a folder that only the user can enter. It signs only data for a
login."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Sequence

import paramiko
from paramiko.message import Message

_FAILURE = b"\x05"
_REQUEST_IDENTITIES = 11
_IDENTITIES_ANSWER = 12
_SIGN_REQUEST = 13
_SIGN_RESPONSE = 14
_MOST_BYTES = 1 << 18
_RSA_ALGORITHMS = {2: "rsa-sha2-256", 4: "rsa-sha2-512"}
_USERAUTH_REQUEST = 50  # RFC 4252: what a client signs to log in


class LoginAgent:
    """An SSH agent that offers `keys` at the socket `path`. It is a context manager: the agent runs during the `with`
    block. Several `ssh` processes may use it at once, because ssh starts one more process for each jump host."""

    def __init__(self, path: str, keys: Sequence[paramiko.PKey]) -> None:
        self._keys = {_public_blob(key): key for key in keys}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen()

    def __enter__(self) -> LoginAgent:
        threading.Thread(target=self._serve, name="login agent", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone would leave the thread in `accept`.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._answer_all, args=(client,), daemon=True).start()

    def _answer_all(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, struct.error), client.makefile("rb") as requests:
            while True:
                (size,) = struct.unpack(">I", requests.read(4))
                if size > _MOST_BYTES:
                    return
                answer = self.answer(requests.read(size))
                client.sendall(struct.pack(">I", len(answer)) + answer)

    def answer(self, request: bytes) -> bytes:
        """Return the answer to one request of the SSH agent protocol. Request and answer are without their length
        prefix. The answer is `failure` if the request is unknown or cannot be served."""
        message = Message(request[1:])
        if request[:1] == bytes([_REQUEST_IDENTITIES]):
            return self._identities()
        if request[:1] == bytes([_SIGN_REQUEST]):
            key = self._keys.get(message.get_binary())
            return self._signature(key, message) if key else _FAILURE
        return _FAILURE

    def _identities(self) -> bytes:
        answer = Message()
        answer.add_byte(bytes([_IDENTITIES_ANSWER]))
        answer.add_int(len(self._keys))
        for blob in self._keys:
            answer.add_string(blob)
            answer.add_string("")
        return answer.asbytes()

    def _signature(self, key: paramiko.PKey, request: Message) -> bytes:
        """Return the answer to a request to sign with `key`. `request` has the data to sign, and flags that name the
        signature algorithm of an RSA key. The answer is `failure` if the data is not for a login or the key cannot
        sign."""
        data, flags = request.get_binary(), request.get_int()
        if not _is_login(data):
            return _FAILURE
        try:
            signature = key.sign_ssh_data(data, _RSA_ALGORITHMS.get(flags))
        except (paramiko.SSHException, OSError):
            return _FAILURE
        answer = Message()
        answer.add_byte(bytes([_SIGN_RESPONSE]))
        # A key of the user's agent returns bytes, other keys a message.
        answer.add_string(signature if isinstance(signature, bytes) else signature.asbytes())
        return answer.asbytes()


def _is_login(data: bytes) -> bool:
    """Return whether `data` is what an SSH client signs to log in: the session identifier and an authentication
    request."""
    message = Message(data)
    message.get_binary()
    return message.get_byte() == bytes([_USERAUTH_REQUEST])


def _public_blob(key: paramiko.PKey) -> bytes:
    """Return the public key in the form in which it is offered at login. If the key has a certificate, that is the
    certificate."""
    return key.public_blob.key_blob if key.public_blob else key.asbytes()
