"""What a host can do about passing images on: its programs, addresses and room."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.shell.command import Command, shell

_CAN = """\
command -v docker >/dev/null && echo cli
command -v ssh >/dev/null && echo ssh
for sshd in $(command -v sshd) /usr/sbin/sshd /usr/local/sbin/sshd; do
    [ -x "$sshd" ] && { echo sshd; break; }
done
echo "user $(id -un)"
set -- "$1" $SSH_CONNECTION; echo "address $4"
found=$(ip -o addr show scope global 2>/dev/null | while read -r _ _ _ one _; do echo "${one%/*}"; done)
echo addresses $found
echo "disk $(df -Pk "$1" 2>/dev/null | tail -n 1)"
echo "room $(df -Pk /var/tmp 2>/dev/null | tail -n 1)"
"""


@dataclass(frozen=True)
class Ability:
    """`disk_bytes` are free for the engine, `room_bytes` for passing on; with `is_one_disk` they are the
    same bytes."""

    has_tools: bool = False
    user: str = ""
    address: str = ""
    addresses: tuple[str, ...] = ()
    disk_bytes: int | None = None
    room_bytes: int = 0
    is_one_disk: bool = False


def ability(engine_root: str) -> Command:
    return shell(_CAN, engine_root)


def read_ability(text: str) -> Ability:
    words = dict(line.partition(" ")[::2] for line in text.splitlines())
    disk, room = words.get("disk", "").split(), words.get("room", "").split()
    return Ability(
        has_tools={"cli", "ssh", "sshd"} <= words.keys(),
        user=words.get("user", ""),
        address=words.get("address", ""),
        addresses=tuple(words.get("addresses", "").split()),
        disk_bytes=_free(disk),
        room_bytes=_free(room) or 0,
        is_one_disk=_is_same(disk, room),
    )


def _free(df: list[str]) -> int | None:
    return int(df[3]) * 1024 if len(df) > 4 and df[3].isdigit() else None


def _is_same(one: list[str], other: list[str]) -> bool:
    """A device has a path of its own; `tmpfs` and `overlay` are the names of many."""
    if not one or not other:
        return False
    return one[5:] == other[5:] or (one[0].startswith("/") and one[0] == other[0])
