"""What `image check` and `image ls` print."""

import io

from rich.console import Console

from hvdocker.console.style import out
from hvdocker.console.views.image import show_image_check, show_images
from hvdocker.images.check_rules import ImageCheck
from hvdocker.images.image_list import ImageEntry, ImageList


def console() -> tuple[Console, io.StringIO]:
    text, one = io.StringIO(), out()
    one.file = text
    return one, text


def test_an_image_that_cannot_serve() -> None:
    screen, text = console()
    fix = "hvdocker image build --from team/a:1"
    show_image_check(screen, ImageCheck("team/a:1", ("it has no sshd (/usr/sbin/sshd)",), fix, (), "each"))
    assert text.getvalue() == (
        f"team/a:1 cannot serve\n  it has no sshd (/usr/sbin/sshd)\n  → {fix}\n  frameworks: none\n"
    )


def test_an_image_that_can_serve() -> None:
    screen, text = console()
    found = {"torch": "2.13.0+cpu"}
    show_image_check(
        screen, ImageCheck("team/a:1", (), "", ("torch", "each"), "torch", found, ("/p 3.11.2",), ("a note",))
    )
    assert text.getvalue() == (
        "team/a:1 can serve\n  launcher: torch, also each\n  frameworks: torch 2.13.0+cpu\n  Python: /p 3.11.2\n"
        "  note: a note\n"
    )


def test_images_are_listed_by_name_and_another_build_is_marked() -> None:
    screen, text = console()
    entries = tuple(
        ImageEntry(host, "doc-hvd:torch", f"sha256:{host * 64}", content, 5 << 30, 70, {"hvdocker.launcher": "torch"})
        for host, content in (("a", "x"), ("b", "x"), ("c", "y"))
    )
    show_images(screen, ImageList(entries, ("a", "b", "c", "d"), "doc-hvd:torch"), 100.0)
    rows = [line.split() for line in text.getvalue().splitlines()]
    assert rows[0] == ["image", "host", "id", "size", "age", "launcher"]
    assert rows[1] == ["doc-hvd:torch", "a", "a" * 12, "5.0", "GB", "30.0", "s", "torch"]
    assert rows[3] == ["c", "c" * 12, "5.0", "GB", "30.0", "s", "torch", "another", "build"]
    assert rows[4] == ["doc-hvd:torch", "is", "not", "on", "d"]
