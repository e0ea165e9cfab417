"""The images on the engines of a cluster's machines, and which of them differ. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hvdocker import names
from hvdocker.errors import HvdockerError


@dataclass(frozen=True)
class ImageEntry:
    """An image on one engine. `host` is the name of the host, or `here` for the controller. `content` is a hash that is
    equal on all engines, while `id` is valid on this engine only. `created` is a Unix time."""

    host: str
    name: str
    id: str
    content: str
    size_bytes: int
    created: int
    labels: Mapping[str, str]


@dataclass(frozen=True)
class ImageList:
    """The result of `image ls`. `cluster_image` is the cluster's image, empty without an inventory. `hosts` are the
    hosts whose engines answered, in order. The controller (`here`) is the first of them if it has an entry, if the
    cluster is local, or without an inventory. `errors` are the errors of hosts that did not answer."""

    entries: tuple[ImageEntry, ...]
    hosts: tuple[str, ...]
    cluster_image: str = ""
    errors: tuple[HvdockerError, ...] = ()

    @property
    def differing(self) -> frozenset[tuple[str, str]]:
        """The images that differ from the usual build, as pairs (host, name). The usual build of a name is the content
        that most engines have under this name. In a tie the content of the first engine counts."""
        by_name: dict[str, list[ImageEntry]] = {}
        for entry in self.entries:
            by_name.setdefault(entry.name, []).append(entry)
        usual = {
            name: Counter(entry.content for entry in entries).most_common(1)[0][0] for name, entries in by_name.items()
        }
        return frozenset((entry.host, entry.name) for entry in self.entries if entry.content != usual[entry.name])

    @property
    def lacking(self) -> tuple[str, ...]:
        """The hosts in `hosts` whose engines lack the cluster's image. Empty without an inventory."""
        having = {entry.host for entry in self.entries if entry.name == self.cluster_image}
        return tuple(host for host in self.hosts if host not in having) if self.cluster_image else ()

    def as_json(self) -> dict[str, Any]:
        differing = self.differing
        return {
            "cluster_image": self.cluster_image or None,
            "images": [
                {
                    "host": entry.host,
                    "name": entry.name,
                    "id": entry.id,
                    "content": entry.content,
                    "size_bytes": entry.size_bytes,
                    "created": entry.created,
                    "launcher": entry.labels.get(names.LABEL_LAUNCHER),
                    "format": entry.labels.get(names.LABEL_FORMAT),
                    "frameworks": entry.labels.get(names.LABEL_FRAMEWORKS),
                    "differs": (entry.host, entry.name) in differing,
                }
                for entry in self.entries
            ],
            "lacking": list(self.lacking),
            "errors": [{"host": error.host, "what": error.what} for error in self.errors],
        }


def is_listed(image_names: Iterable[str], labels: Mapping[str, str], cluster_image: str) -> bool:
    """Return whether `image ls` shows an image with these names and labels. It shows images made for or by hvdocker,
    and the cluster's image."""
    is_ours = names.LABEL_IMAGE in labels or names.LABEL_REQUIREMENTS in labels
    return is_ours or any(name == cluster_image or name.startswith(names.OWN_IMAGE_PREFIXES) for name in image_names)
