"""What a host has of ours, of whichever cluster, and who gives signs of life there: nothing decided."""

from __future__ import annotations

from dataclasses import dataclass

from hvdocker.observe.state import ContainerSeen


@dataclass(frozen=True)
class RunFolder:
    """A folder of a `run`'s cluster, by the mark in it."""

    cluster: str
    token: str
    owner: str


@dataclass(frozen=True)
class UnusedImage:
    """An image of ours that no container of the host was made from; `reference` is a name, or an id."""

    reference: str
    size_bytes: int


@dataclass(frozen=True)
class HostLeftovers:
    """`living` are the tokens of those who gave a sign of life on this host. `feeds` and `parts` are left of
    images that were sent, older than anybody's use of them."""

    containers: tuple[ContainerSeen, ...] = ()
    living: frozenset[str] = frozenset()
    folders: tuple[RunFolder, ...] = ()
    feeds: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    images: tuple[UnusedImage, ...] = ()
