"""What an engine says while it loads."""

from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.images.ship.cache import LayerCache
from hvdocker.images.ship.load import LayersGone, load_error, load_image
from hvdocker.images.ship.resumable_parts import ExportedImage, split_into_parts

IMAGE = ExportedImage("x:y", b"{}", ())
FULL = "write /layer: no space left on device"


class Engine:
    """An engine that complains: with its answer's status, or in the midst of its answer."""

    def __init__(self, at_once: str = "", later: str = "") -> None:
        self.at_once, self.later = at_once, later

    def _url(self, path: str) -> str:
        return path

    def _post(self, url: str, data: Any, **how: object) -> None:
        list(data)

    def _raise_for_status(self, response: object) -> None:
        if self.at_once:
            raise APIError("500 Server Error", explanation=self.at_once)

    def _stream_helper(self, response: object, decode: bool) -> Any:
        yield {"stream": "loading"}
        yield {"error": self.later}


def loaded(engine: Engine, cache: Path) -> None:
    client: Any = engine  # Any: stands in for an APIClient
    load_image(client, IMAGE, split_into_parts(IMAGE, 0), LayerCache(cache), lambda done: None)


@pytest.mark.parametrize("engine", [Engine(at_once=FULL), Engine(later=FULL)], ids=["at once", "later"])
def test_a_full_disk_is_called_that(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(HostUnfit, match="the disk is full: loading x:y") as caught:
        loaded(engine, tmp_path)
    assert list(caught.value.lines) == [FULL] and "docker image prune" in (caught.value.fix or "")


def test_other_complaints_are_shown_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(HvdockerError, match="loading x:y failed") as caught:
        loaded(Engine(at_once="invalid tar header"), tmp_path)
    assert list(caught.value.lines) == ["invalid tar header"]


def test_a_layer_that_the_engine_lacks_is_told_apart() -> None:
    folder = "/var/lib/docker/tmp/docker-import-2378271481"
    assert isinstance(load_error("x:y", f"open {folder}/{'a' * 64}.tar: no such file or directory"), LayersGone)
    empty = load_error("x:y", f"open {folder}/repositories: no such file or directory")
    assert not isinstance(empty, LayersGone)
