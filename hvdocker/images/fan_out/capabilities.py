"""The command that finds out whether a host can pass an image on to other hosts, and its parser: programs, addresses
and free disk. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.shell.command import Command, shell

_CAPABILITIES = """\
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
class FeedCapabilities:
    """What a host has for passing an image on to other hosts.

    `has_tools` means that the host has docker CLI, ssh and sshd. `user` is the SSH user. `address` is the host's
    address in the controller's SSH connection, and `addresses` are all global addresses of the host.
    `engine_disk_bytes` is the free space on the engine's disk, None if unknown. `feed_disk_bytes` is the free space in
    /var/tmp, where layers to pass on are stored, 0 if unknown. `is_one_disk` says that the engine and /var/tmp are on
    the same disk."""

    has_tools: bool = False
    user: str = ""
    address: str = ""
    addresses: tuple[str, ...] = ()
    engine_disk_bytes: int | None = None
    feed_disk_bytes: int = 0
    is_one_disk: bool = False


def capabilities_command(engine_root: str) -> Command:
    """Return the command that prints what the host has for a fan-out, in the form that `parse_capabilities` reads.

    `engine_root` is the data folder of the Docker engine, such as /var/lib/docker. Its free disk is printed too."""
    return shell(_CAPABILITIES, engine_root)


def parse_capabilities(text: str) -> FeedCapabilities:
    words = dict(line.partition(" ")[::2] for line in text.splitlines())
    disk, room = words.get("disk", "").split(), words.get("room", "").split()
    return FeedCapabilities(
        has_tools={"cli", "ssh", "sshd"} <= words.keys(),
        user=words.get("user", ""),
        address=words.get("address", ""),
        addresses=tuple(words.get("addresses", "").split()),
        engine_disk_bytes=_free_bytes(disk),
        feed_disk_bytes=_free_bytes(room) or 0,
        is_one_disk=_is_same_disk(disk, room),
    )


def _free_bytes(df: list[str]) -> int | None:
    return int(df[3]) * 1024 if len(df) > 4 and df[3].isdigit() else None


def _is_same_disk(one: list[str], other: list[str]) -> bool:
    """Return whether two rows of the output of `df` are about the same file system: they have the same mount point, or
    the same device. Each row is a list of its words.

    Only a device path such as /dev/sda1 identifies a device: many file systems are called `tmpfs` or `overlay`. If a
    row is missing (empty), the answer is False."""
    if not one or not other:
        return False
    return one[5:] == other[5:] or (one[0].startswith("/") and one[0] == other[0])
