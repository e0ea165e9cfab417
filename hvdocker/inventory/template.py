"""The inventory file that `init` writes: the hosts, and every other key as an explained example in a comment.

Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from hvdocker.inventory.fields import HOST_FIELDS, TOP_FIELDS, Field
from hvdocker.inventory.safe_text import yaml_scalar

WIDTH = 79


def inventory_file(name: str, entries: Sequence[str], suggested: Sequence[str] = ()) -> str:
    """Return the text of a new inventory file.

    `name` is its file name, shown in the commands that its comments suggest. `entries` are its hosts in YAML, such as
    `gpu-a` or `{host: gpu-b, slots: 4}`. If there are no entries, the `suggested` hosts (names as ssh knows them) are
    listed as comments; without these, two examples are."""
    lines = [
        "# The hosts of a cluster, and what their containers get. Only `hosts:` is",
        "# needed. What stands behind a `#` is a suggestion, explained above it: take the",
        "# `#` away to use it.",
        "#",
        f"#   start the cluster: hvdocker up {_shown(name)}",
        f"#   what all this comes to: hvdocker config {_shown(name)}",
        "",
        *_hosts(entries, suggested),
    ]
    for field in TOP_FIELDS:
        if field.name != "hosts":
            lines += ["", *_explained(field), f"#{field.name}: {field.example}"]
    free = "Keys that begin with x- are free: notes, or anchors for YAML's aliases."
    return "\n".join([*lines, "", f"# {free}", "#x-notes: rack 7, ask Kim before rebooting"]) + "\n"


def _shown(name: str) -> str:
    return name if name.isprintable() else "FILE"


def _hosts(entries: Sequence[str], suggested: Sequence[str]) -> Iterator[str]:
    yield "# What ssh calls them. User, port, key and jump host come from ~/.ssh/config"
    yield "# where it has them."
    yield "hosts:"
    if not entries:
        yield "  # Fill in at least one, a line each; without it this file is not complete."
    for entry in entries:
        yield f"  - {entry}"
    for host in () if entries else suggested or ("gpu-a", "ubuntu@10.0.0.12"):
        yield f"  #- {yaml_scalar(host)}"
    yield "  # More about a host, where it is needed:"
    for field in HOST_FIELDS:
        yield from _explained(field, "  #   ", f"{field.name}: ")
    yield "  #- {host: gpu-b, address: 10.0.0.12, slots: 4, ssh: {user: root, port: 2222}}"


def _explained(field: Field, indent: str = "# ", begin: str = "") -> list[str]:
    default = f" Default: {field.default}." if field.default else ""
    return textwrap.wrap(f"{begin}{field.help}{default}", WIDTH, initial_indent=indent, subsequent_indent=indent)
