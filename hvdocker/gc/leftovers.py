"""The leftovers of hvdocker on a host, for all clusters, and which clients (hvdocker processes) are alive. Only data:
plan.py decides what is removed."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.observe.state import ContainerSeen


@dataclass(frozen=True)
class RunFolder:
    """A cluster folder that a `hvdocker run` made on a host. `token` identifies that `hvdocker run`. Token and owner
    come from the name of the folder `run/<token>@<owner>` in it."""

    cluster: str
    token: str
    owner: str


@dataclass(frozen=True)
class UnusedImage:
    """An hvdocker image from which no container of the host was made; `reference` is its tag or id."""

    reference: str
    size_bytes: int


@dataclass(frozen=True)
class HostLeftovers:
    """All leftovers on one host, for every cluster.

    `containers` are all containers of hvdocker, used or not. `live_tokens` are the tokens of clients (hvdocker
    processes) that have a live ticket on this host. `folders` are the cluster folders that a `hvdocker run` made.
    `feeds` (folders) and `parts` (tags or ids of incomplete images) come from image transfers, and are too old to be
    still in use. `images` are unused; they are listed only for `gc --images`."""

    containers: tuple[ContainerSeen, ...] = ()
    live_tokens: frozenset[str] = frozenset()
    folders: tuple[RunFolder, ...] = ()
    feeds: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    images: tuple[UnusedImage, ...] = ()
