"""`image ls` after `up --image`: the cluster's image is the one that its workers have."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hvdocker.images import ls
from hvdocker.images.image_list import ImageEntry
from hvdocker.observe import hosts
from hvdocker.transport.pool import HostOutcomes
from tests.unit.builders import host_with_worker, inventory

NAMED = inventory("{image: mine:7, hosts: [a]}")
FORCED = replace(NAMED, image="doc-hvd:torch", forced_image="doc-hvd:torch")


def test_the_clusters_image_is_that_of_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def connected(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(links={"a": SimpleNamespace(engine=lambda: None)}, failed={})

    def entries(_: object, host: str, image: str) -> list[ImageEntry]:
        return [ImageEntry(host, image, "id", "content", 5, 100, {})]

    located = SimpleNamespace(inventory=NAMED)
    seen = HostOutcomes({"a": host_with_worker(FORCED, "a")}, {})
    monkeypatch.setattr(ls, "locate", lambda *_: located)
    monkeypatch.setattr(ls, "connected", connected)
    monkeypatch.setattr(ls, "with_default_image", lambda *_: located)
    monkeypatch.setattr(hosts, "observe_hosts", lambda *_: seen)
    monkeypatch.setattr(ls, "_entries", entries)
    monkeypatch.setattr(ls, "_here", lambda image: entries(None, "here", image))
    found = ls.list_images(None, None)  # type: ignore[arg-type]  # nothing reads the environment here
    assert (found.cluster_image, found.lacking) == ("doc-hvd:torch", ())
