"""The sentences that verbs print about their work, most of them when they have finished. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hvdocker.units import pluralize, show_bytes


def cluster_up(cluster: str, hosts: int, slots: int) -> str:
    return f"{cluster} is up: {pluralize(hosts, 'host')}, {pluralize(slots, 'slot')}"


def nothing_to_do(cluster: str, hosts: int) -> str:
    return f"nothing to do: {cluster} is up on {pluralize(hosts, 'host')}"


def image_pushed(image: str, hosts: int, was_there: bool) -> str:
    return f"{image} {'was already' if was_there else 'is'} on {pluralize(hosts, 'host')}"


def use_image(image: str) -> str:
    return f"use it: hvdocker up --image {image}, or `image: {image}` in the inventory"


def keys_rotated(cluster: str, hosts: int) -> str:
    return f"the keys of {cluster} are new on {pluralize(hosts, 'host')}"


def cluster_down(cluster: str, hosts: int) -> str:
    return f"{cluster} is down: {pluralize(hosts, 'host')} given back"


def fetched(files: int, size_bytes: int) -> str:
    return f"{pluralize(files, 'file')}, {show_bytes(size_bytes)}"


def saved_beside_script(files: int, folder: str) -> str:
    return f"{pluralize(files, 'file')} saved beside the script: {folder}"


def started(job: str, ranks: int, where: str) -> str:
    return f"{job}: {pluralize(ranks, 'rank')} on {where}"


def nothing_left(seen: int, hosts: int) -> str:
    """Return the sentence that `gc` prints if it finds nothing to remove.

    `hosts` is the number of all hosts, and `seen` the number of hosts that could be observed."""
    where = pluralize(hosts, "host") if seen == hosts else f"{seen} of {pluralize(hosts, 'host')}"
    return f"nothing to do: nothing is left over on {where}"


def collected(runs: Sequence[str], steps: int) -> str:
    given = f", {', '.join(runs)} {'is' if len(runs) == 1 else 'are'} given back" if runs else ""
    return f"{pluralize(steps, 'step')} done{given}"


def attached(job: str) -> str:
    return f"{job} is running; Ctrl-C leaves it running"


def ranks_ended(job: str, host: str, number: int) -> str:
    return f"{pluralize(number, 'rank')} of {job} ended on {host}"


def results_missing(job: str, hosts: Sequence[str]) -> str:
    return f"what {job} has on {', '.join(hosts)} is missing: fetch again when they are back"
