"""Decides whether an upload goes through a process `ssh` or through the open connection. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# A login of ssh costs 0.15 to 0.25 s. For one upload, ssh makes up for that from about this size on. Uploads at the
# same time share the one processor of the open connections, so their sizes are added up.
MIN_TOTAL_BYTES = 192 << 20
# Smaller uploads to many hosts would be many logins at once, for which the controller needs processor time too.
MIN_BYTES = 32 << 20


class UploadPipe(Enum):
    CONNECTION = "connection"
    OPENSSH = "openssh"


@dataclass(frozen=True)
class LoginFacts:
    """The facts that decide whether ssh can log in. `program` is the path of ssh, empty if it is not installed.
    `key_type` is the type of the key that the host accepted, such as `ssh-ed25519`, empty if no key was needed.
    `was_refused` says that ssh was tried on this link, and could not log in."""

    program: str = ""
    key_type: str = ""
    was_refused: bool = False


def choose_pipe(size: int, streams: int, login: LoginFacts) -> UploadPipe:
    """Return the pipe for an upload of `size` bytes, while `streams` hosts (with this one) receive uploads of that
    size.

    The user has to touch a hardware token for each login, so keys of such tokens (`sk-…`) are not used twice."""
    is_large = size >= MIN_BYTES and size * streams >= MIN_TOTAL_BYTES
    can_log_in = bool(login.program and login.key_type) and not login.key_type.startswith("sk-")
    return UploadPipe.OPENSSH if is_large and can_log_in and not login.was_refused else UploadPipe.CONNECTION
