"""Which images are listed, and which of them differ."""

from hvdocker import names
from hvdocker.images.image_list import ImageEntry, ImageList, is_listed


def entry(host: str, content: str, name: str = "doc-hvd:torch") -> ImageEntry:
    return ImageEntry(host, name, f"id-{host}", content, 5, 100, {names.LABEL_LAUNCHER: "torch"})


def test_the_build_that_most_engines_have_is_the_right_one() -> None:
    found = ImageList(
        (entry("here", "x"), entry("a", "y"), entry("b", "y"), entry("b", "z", "doc-hvd:cpu")), ("here", "a", "b")
    )
    assert found.differing == {("here", "doc-hvd:torch")}


def test_in_a_tie_the_first_engine_decides() -> None:
    assert ImageList((entry("here", "x"), entry("a", "y")), ("here", "a")).differing == {("a", "doc-hvd:torch")}


def test_engines_that_lack_the_clusters_image() -> None:
    found = ImageList((entry("a", "x"),), ("here", "a", "b"), "doc-hvd:torch")
    assert found.lacking == ("here", "b") and ImageList((), ("here",)).lacking == ()


def test_json() -> None:
    assert ImageList((entry("a", "x"),), ("a",), "doc-hvd:torch").as_json() == {
        "cluster_image": "doc-hvd:torch",
        "images": [
            {
                "host": "a",
                "name": "doc-hvd:torch",
                "id": "id-a",
                "content": "x",
                "size_bytes": 5,
                "created": 100,
                "launcher": "torch",
                "format": None,
                "frameworks": None,
                "differs": False,
            }
        ],
        "lacking": [],
        "errors": [],
    }


def test_images_of_ours_and_the_clusters_are_listed() -> None:
    assert is_listed(["doc-hvd:base"], {}, "") and is_listed(["team/x:1"], {names.LABEL_IMAGE: "1"}, "")
    assert is_listed(["team/x:1"], {}, "team/x:1") and not is_listed(["team/y:1"], {}, "team/x:1")
