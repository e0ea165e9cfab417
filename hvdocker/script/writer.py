"""Building blocks of script lines: a command on a host, an archive, a file. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.inventory.inventory import Inventory
from hvdocker.shell.command import Command


@dataclass(frozen=True)
class ScriptWriter:
    """Writes lines for the hosts of one inventory. `template` is the SSH configuration of containers,
    `functions` the shell function that reaches each host, `sudo_hosts` those where docker needs sudo."""

    inventory: Inventory
    template: str
    sudo_hosts: frozenset[str]
    functions: Mapping[str, str]

    def on(self, host: str, *commands: Command, pipe: bool = False) -> str:
        """Return a line that runs the commands on a host, one after the other or as a pipe."""
        lines = [self.with_sudo(host, each).line() for each in commands]
        return f"{self.functions[host]} {shlex.quote((' | ' if pipe else ' && ').join(lines))}"

    def docker(self, host: str) -> str:
        """Return how to call docker inside a shell script on that host."""
        return "sudo -n docker" if host in self.sudo_hosts else "docker"

    def with_sudo(self, host: str, words: Command) -> Command:
        return words.as_root() if host in self.sudo_hosts and words.argv[0] == "docker" else words


def tar_command(uid: int, gid: int, folder: str, what: str) -> str:
    """Return a command that writes `what` of `$keys/folder` to stdout as an archive, owned by uid and gid."""
    return f'tar --owner={uid} --group={gid} --numeric-owner -C "$keys/{folder}" -cf - {what}'


def here_document(target: str, content: str) -> str:
    """Return a here-document that writes the content to a file on the controller."""
    return f"cat > {target} <<'HVDOCKER_END'\n{content.rstrip(chr(10))}\nHVDOCKER_END"
