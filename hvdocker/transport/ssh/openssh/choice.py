"""Decides whether an upload goes through an `ssh` process or through the open connection. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# A login of ssh costs 0.15 to 0.25 s. From about this size on, an upload is faster through ssh, with the login. Uploads
# at the same time share the one processor of the open connections, so their sizes are added up.
MIN_TOTAL_BYTES = 192 << 20
# Smaller uploads do not use ssh, however many hosts receive them: many logins at once take much processor time too.
MIN_BYTES = 32 << 20


class UploadPipe(Enum):
    CONNECTION = "connection"
    OPENSSH = "openssh"


@dataclass(frozen=True)
class LoginFacts:
    """The facts that decide whether the program ssh can log in. `program` is the path of ssh, empty if it is not
    installed. `key_type` is the type of the key that the host accepted, such as `ssh-ed25519`; it is empty if no key
    was needed. `was_refused` means that ssh failed to log in on this link before."""

    program: str = ""
    key_type: str = ""
    was_refused: bool = False


def choose_pipe(size: int, streams: int, login: LoginFacts) -> UploadPipe:
    """Return whether an upload of `size` bytes goes through the open connection or through an `ssh` process. `streams`
    is the number of hosts, including this one, that receive an upload of this size at the same time.

    Keys on hardware tokens (types `sk-…`) always use the open connection, because the user has to touch the token for
    each login."""
    is_large = size >= MIN_BYTES and size * streams >= MIN_TOTAL_BYTES
    can_log_in = bool(login.program and login.key_type) and not login.key_type.startswith("sk-")
    return UploadPipe.OPENSSH if is_large and can_log_in and not login.was_refused else UploadPipe.CONNECTION
