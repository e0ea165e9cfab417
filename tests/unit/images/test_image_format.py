"""An image of another format is refused in words that say what to do."""

import pytest

from hvdocker.images.image_format import format_problem


@pytest.mark.parametrize(
    ("image", "labels", "what", "fix"),
    [
        ("doc-hvd:cpu", {}, "an older hvdocker: it speaks format 1", "hvdocker image build --target cpu"),
        ("mine:7", {"hvdocker.format": "1"}, "an older hvdocker: it speaks format 1", "image build --from mine:7"),
        ("mine:7", {"hvdocker.format": "9"}, "a newer hvdocker: it speaks format 9", "update hvdocker"),
        ("mine:7", {"hvdocker.format": "x"}, "it speaks format 1, and this hvdocker format 2", "--from mine:7"),
        ("lan:5000/mine:7", {}, "an older hvdocker: it speaks format 1", "then hvdocker up --image hvdocker/mine:7"),
    ],
)
def test_another_format(image: str, labels: dict[str, str], what: str, fix: str) -> None:
    problem = format_problem(image, {"hvdocker.image": "1", **labels})
    assert problem and what in problem.what and f"the image {image}" in problem.what
    assert fix in (problem.fix or "")


@pytest.mark.parametrize("labels", [{"hvdocker.image": "1", "hvdocker.format": "2"}, {}, {"maintainer": "kim"}])
def test_our_format_and_images_of_others(labels: dict[str, str]) -> None:
    assert format_problem("mine:7", labels) is None
