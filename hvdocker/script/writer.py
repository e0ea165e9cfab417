"""Building blocks of script lines: a command on a host, an archive, a file. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from hvdocker.inventory.inventory import Inventory
from hvdocker.shell.command import Command


@dataclass(frozen=True)
class ScriptWriter:
    """Writes lines of a bash script for the hosts of one inventory. `template` is the text of templates/ssh_config.j2,
    from which the containers' SSH configuration is made. `functions` maps each host to the name of the shell function
    that runs a command there. On `sudo_hosts` docker needs sudo."""

    inventory: Inventory
    template: str
    sudo_hosts: frozenset[str]
    functions: Mapping[str, str]

    def on(self, host: str, *commands: Command, pipe: bool = False) -> str:
        """Return a line that runs the commands on a host: one after the other until one fails, or with `pipe` connected
        by pipes. Commands that begin with `docker` get sudo on hosts that need it."""
        lines = [self.with_sudo(host, each).line() for each in commands]
        return f"{self.functions[host]} {shlex.quote((' | ' if pipe else ' && ').join(lines))}"

    def docker(self, host: str) -> str:
        """Return the words that call docker in a shell script on that host: `sudo -n docker` if the host is in
        `sudo_hosts`, else `docker`."""
        return "sudo -n docker" if host in self.sudo_hosts else "docker"

    def with_sudo(self, host: str, words: Command) -> Command:
        return words.as_root() if host in self.sudo_hosts and words.argv[0] == "docker" else words


def tar_command(uid: int, gid: int, folder: str, what: str) -> str:
    """Return a command that packs files of `$keys/FOLDER` into a tar archive on stdout. `what` are their names,
    separated by blanks. In the archive they belong to `uid` and `gid`. `$keys` is the temporary folder of the running
    script."""
    return f'tar --owner={uid} --group={gid} --numeric-owner -C "$keys/{folder}" -cf - {what}'


def here_document(target: str, content: str) -> str:
    """Return the lines that write `content` to the file `target` on the controller, by a here-document. `target` is a
    word of the shell, already quoted, such as `"$keys/hosts"`."""
    return f"cat > {target} <<'HVDOCKER_END'\n{content.rstrip(chr(10))}\nHVDOCKER_END"
