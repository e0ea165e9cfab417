"""What the lines of a script are made of."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.inventory.inventory import Inventory
from hvdocker.shell.command import Command


@dataclass(frozen=True)
class Writer:
    inventory: Inventory
    template: str
    sudo_hosts: frozenset[str]
    functions: Mapping[str, str]

    def on(self, host: str, *commands: Command, pipe: bool = False) -> str:
        """A line that runs commands on a host, one after the other or as a pipe."""
        lines = [self._rooted(host, each).line() for each in commands]
        return f"{self.functions[host]} {shlex.quote((' | ' if pipe else ' && ').join(lines))}"

    def docker(self, host: str) -> str:
        """The words for it inside a script on that host."""
        return "sudo -n docker" if host in self.sudo_hosts else "docker"

    def _rooted(self, host: str, words: Command) -> Command:
        return words.as_root() if host in self.sudo_hosts and words.argv[0] == "docker" else words


def tar(uid: int, gid: int, folder: str, what: str) -> str:
    return f'tar --owner={uid} --group={gid} --numeric-owner -C "$keys/{folder}" -cf - {what}'


def here(target: str, content: str) -> str:
    return f"cat > {target} <<'HVDOCKER_END'\n{content.rstrip(chr(10))}\nHVDOCKER_END"
