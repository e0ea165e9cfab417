"""How OpenSSH's own command line would reach a host: for people, evidence and scripts."""

from __future__ import annotations

from hvdocker.inventory.inventory import Host


def ssh_words(host: Host) -> tuple[str, ...]:
    words = ["ssh"]
    if host.ssh.port:
        words += ["-p", str(host.ssh.port)]
    if host.ssh.key:
        words += ["-i", host.ssh.key]
    if host.ssh.jump:
        words += ["-J", host.ssh.jump]
    return (*words, f"{host.ssh.user}@{host.host}" if host.ssh.user else host.host)
