"""The description of a file in a container, and the entry of the container's user in /etc/passwd. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker import names

HOME = f"{names.CONTAINER_FOLDER}/home"


@dataclass(frozen=True)
class FileSpec:
    """A file or folder to put into a container. `path` is relative to /run/hvdocker, such as `ssh/config`; only
    `etc/passwd` is relative to /. `content` is the text of the file, None for a folder. `mode` has the permission
    bits."""

    path: str
    content: str | None
    mode: int = 0o600


def user_name(uid: int) -> str:
    return "root" if uid == 0 else "hvd"


def passwd_line(uid: int, gid: int) -> str:
    return f"{user_name(uid)}:x:{uid}:{gid}:hvdocker:{HOME}:/bin/sh\n"


def with_user(passwd: str, uid: int, gid: int) -> str:
    """Return `passwd`, the text of /etc/passwd in an image, with an entry for the container's user. An entry of an
    earlier call is replaced. For root (uid 0) the text is returned unchanged, because root already has an entry."""
    if uid == 0:
        return passwd
    kept = [line for line in passwd.splitlines(keepends=True) if not line.startswith("hvd:")]
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    return "".join(kept) + passwd_line(uid, gid)
