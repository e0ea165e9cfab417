"""The verb config: returns the inventory as hvdocker understands it. Contacts no host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hvdocker.env import Env
from hvdocker.inventory.config_text import ConfigView, config_json, config_yaml
from hvdocker.inventory.locate import PIPE, choose, inventory_from_text, inventory_path, read_text
from hvdocker.inventory.origin import find_origins
from hvdocker.inventory.redact import redacted
from hvdocker.inventory.schema import schema_text

__all__ = ["ConfigView", "config", "config_json", "config_yaml", "schema_text"]


def config(env: Env, explicit: Path | None) -> ConfigView:
    """Return the inventory as the verb `config` shows it.

    Secret values are hidden. SSH settings are combined with those of ~/.ssh/config and of the system's file; for a
    local cluster these files are not read. `explicit` is the inventory file that the user named. With None the file is
    chosen as for other verbs (`choose` in locate.py)."""
    from hvdocker.inventory.ssh_config import config as ssh_config

    choice = choose(env, explicit)
    path = inventory_path(env, choice.path)
    text = read_text(path)
    located, found = inventory_from_text(env, text, path), find_origins(text)
    shown = PIPE if path.is_fifo() else str(located.path)
    view = ConfigView(redacted(located.inventory), shown, choice.why, found.top)
    if located.inventory.is_local:
        return view
    ssh = ssh_config.load()
    pairs = zip(located.inventory.hosts, found.ssh, strict=True)
    return replace(view, effective_ssh=tuple(ssh.effective_ssh(host, of_host) for host, of_host in pairs))
