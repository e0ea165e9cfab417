"""The OpenSSH command line that reaches a host, for error messages, `hvdocker ssh` and scripts. Pure."""

from __future__ import annotations

from hvdocker.inventory.inventory import Host


def ssh_words(host: Host) -> tuple[str, ...]:
    """Return the words `ssh`, the options from the inventory and the destination, such as ("ssh", "-p", "2222",
    "kim@gpu-a"). The caller may append a command."""
    words = ["ssh"]
    if host.ssh.port:
        words += ["-p", str(host.ssh.port)]
    if host.ssh.key:
        words += ["-i", host.ssh.key]
    if host.ssh.jump:
        words += ["-J", host.ssh.jump]
    return (*words, f"{host.ssh.user}@{host.host}" if host.ssh.user else host.host)
