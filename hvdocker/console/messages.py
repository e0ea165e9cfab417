"""The sentences that verbs print at their end. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hvdocker.units import count, show_bytes


def is_up(cluster: str, hosts: int, slots: int) -> str:
    return f"{cluster} is up: {count(hosts, 'host')}, {count(slots, 'slot')}"


def nothing_to_do(cluster: str, hosts: int) -> str:
    return f"nothing to do: {cluster} is up on {count(hosts, 'host')}"


def is_pushed(image: str, hosts: int, was_there: bool) -> str:
    return f"{image} {'was already' if was_there else 'is'} on {count(hosts, 'host')}"


def is_rotated(cluster: str, hosts: int) -> str:
    return f"the keys of {cluster} are new on {count(hosts, 'host')}"


def is_down(cluster: str, hosts: int) -> str:
    return f"{cluster} is down: {count(hosts, 'host')} given back"


def fetched(files: int, size_bytes: int) -> str:
    return f"{count(files, 'file')}, {show_bytes(size_bytes)}"


def started(job: str, ranks: int, where: str) -> str:
    return f"{job}: {count(ranks, 'rank')} on {where}"


def nothing_left(hosts: int) -> str:
    return f"nothing to do: nothing is left over on {count(hosts, 'host')}"


def collected(runs: Sequence[str], steps: int) -> str:
    given = f", {', '.join(runs)} {'is' if len(runs) == 1 else 'are'} given back" if runs else ""
    return f"{count(steps, 'step')} done{given}"


def attached(job: str) -> str:
    return f"{job} is running; Ctrl-C leaves it running"


def ranks_ended(job: str, host: str, number: int) -> str:
    return f"{count(number, 'rank')} of {job} ended on {host}"


def missing(job: str, hosts: Sequence[str]) -> str:
    return f"what {job} has on {', '.join(hosts)} is missing: fetch again when they are back"
