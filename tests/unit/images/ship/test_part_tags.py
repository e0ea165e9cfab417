"""Whose parts go, and when."""

import time
from typing import Any

import pytest

from hvdocker.images.ship.part_tags import remove_parts
from hvdocker.images.ship.resumable_parts import ExportedImage, ImageLayer, split_into_parts

IMAGE = ExportedImage("x:y", b"{}", ())
OTHER = "sha256:other"
HOUR = 3600


class Engine:
    def __init__(self, *images: dict[str, Any]) -> None:
        self.listed, self.removed = images, list[str]()

    def images(self, filters: dict[str, str]) -> list[dict[str, Any]]:
        return [image for image in self.listed if filters["label"] in image["Labels"]]

    def remove_image(self, name: str) -> None:
        self.removed.append(name)


def part(owner: str, *tags: str, hours: float | None = 0) -> dict[str, Any]:
    """`hours` old; None where it does not know."""
    created = -62135596800 if hours is None else int(time.time() - hours * HOUR)
    return {"Id": "sha256:id", "Labels": {"hvdocker.part": owner}, "RepoTags": tags, "Created": created}


def forgotten(*images: dict[str, Any]) -> list[str]:
    engine = Engine(*images)
    client: Any = engine  # Any: stands in for an APIClient
    remove_parts(client, IMAGE)
    return engine.removed


def test_an_images_own_parts_go_and_those_of_another_push_stay() -> None:
    own, others = part(IMAGE.digest, "hvdocker-part:a-1"), part(OTHER, "hvdocker-part:b-1", hours=20)
    assert forgotten(own, others) == ["hvdocker-part:a-1"]


def test_parts_that_nobody_came_back_for_go_after_a_day() -> None:
    assert forgotten(part(OTHER, "hvdocker-part:b-1", hours=25)) == ["hvdocker-part:b-1"]


def test_parts_of_an_unknown_age_stay() -> None:
    assert forgotten(part(OTHER, "hvdocker-part:b-1", hours=None)) == []


@pytest.mark.parametrize("tags", [(), ("<none>:<none>",)])
def test_a_part_that_lost_its_name_goes_by_its_id(tags: tuple[str, ...]) -> None:
    assert forgotten(part(IMAGE.digest, *tags)) == ["sha256:id"]


def test_a_name_that_a_person_gave_a_part_stays() -> None:
    assert forgotten(part(IMAGE.digest, "hvdocker-part:a-1", "mine:1")) == ["hvdocker-part:a-1"]


def test_parts_carry_the_time_at_which_they_were_sent() -> None:
    layers = (ImageLayer("sha256:a", 10), ImageLayer("sha256:b", 10))
    image = ExportedImage("x:y", b"{}", layers, sent_at="2024-01-02T03:04:05Z")
    first, last = split_into_parts(image, 0, part_bytes=10)
    assert b'"created": "2024-01-02T03:04:05Z"' in first.config
    assert last.config == image.config
