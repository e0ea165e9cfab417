"""`image ls` after `up --image`: the cluster's image is the one that its workers have."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hvdocker.images import ls
from hvdocker.images.image_list import ImageEntry, ImageList
from hvdocker.observe import hosts
from hvdocker.transport.pool import HostOutcomes
from tests.unit.builders import host_with_worker, inventory

REMOTE = ("hosts: [a]", "a")
LOCAL = ("local: 2", "w1")


def listed(monkeypatch: pytest.MonkeyPatch, where: tuple[str, str], has_image_here: bool) -> ImageList:
    """`image ls` of a cluster whose inventory names mine:7, after `up --image torch`."""
    text, name = where
    wanted = inventory(f"{{image: mine:7, {text}}}")
    forced = replace(wanted, image="doc-hvd:torch", forced_image="doc-hvd:torch")

    @contextmanager
    def connected(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(links={name: SimpleNamespace(engine=lambda: None)}, failed={})

    def entries(_: object, host: str, image: str) -> list[ImageEntry]:
        return [ImageEntry(host, image, "id", "content", 5, 100, {})]

    located = SimpleNamespace(inventory=wanted)
    seen = HostOutcomes({name: host_with_worker(forced, name)}, {})
    monkeypatch.setattr(ls, "locate", lambda *_: located)
    monkeypatch.setattr(ls, "connected", connected)
    monkeypatch.setattr(ls, "with_default_image", lambda *_: located)
    monkeypatch.setattr(hosts, "observe_hosts", lambda *_: seen)
    monkeypatch.setattr(ls, "_entries", entries)
    monkeypatch.setattr(ls, "_here", lambda image: entries(None, "here", image) if has_image_here else [])
    return ls.list_images(None, None)  # type: ignore[arg-type]  # nothing reads the environment here


@pytest.mark.parametrize(("where", "machines"), [(REMOTE, ("here", "a")), (LOCAL, ("here",))])
def test_the_clusters_image_is_that_of_its_workers(
    where: tuple[str, str], machines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = listed(monkeypatch, where, has_image_here=True)
    assert (found.cluster_image, found.hosts, found.lacking) == ("doc-hvd:torch", machines, ())


@pytest.mark.parametrize(("where", "lacking"), [(REMOTE, ()), (LOCAL, ("here",))])
def test_only_a_local_cluster_needs_its_image_here(
    where: tuple[str, str], lacking: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listed(monkeypatch, where, has_image_here=False).lacking == lacking
