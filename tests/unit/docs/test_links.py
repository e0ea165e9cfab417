"""Links between pages lead to files and headings that are there."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documentation import ROOT, pages

LINK = re.compile(r"\]\((?P<path>[^()#:\s]*)(?:#(?P<anchor>[^()\s]+))?\)")
FENCE = re.compile(r"^( *)```.*?^ *```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def text_of(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(text: str) -> Iterator[str]:
    """Yield the anchors that GitHub and MyST make of the headings. A heading that stands twice gets a number."""
    seen: dict[str, int] = {}
    for heading in HEADING.findall(text):
        name = slug(heading)
        seen[name] = seen.get(name, -1) + 1
        yield f"{name}-{seen[name]}" if seen[name] else name


def slug(heading: str) -> str:
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    kept = (sign for sign in plain if sign in "-_ " or unicodedata.category(sign)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def dead_links(text: str, page: Path) -> list[str]:
    """Return the links in `text`, the text of `page`, whose file or heading is not there."""
    dead = []
    for found in LINK.finditer(text):
        target = (page.parent / found["path"]).resolve() if found["path"] else page
        known = anchors(text_of(target) if found["path"] else text) if target.is_file() else ()
        if not target.exists() or (found["anchor"] and found["anchor"] not in known):
            dead.append(found[0])
    return dead


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.name))
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(text_of(page), page) == []


@pytest.mark.parametrize(
    ("link", "is_dead"),
    [
        ("[a](#the-heading)", False),
        ("[a](#the-heading-1)", False),
        ("[a](#the-heading-2)", True),
        ("[a](#a-label)", True),
        ("[a](docs/faults.md#the-network)", False),
        ("[a](docs/faults.md#no-such-heading)", True),
        ("[a](docs/no-such-page.md)", True),
    ],
)
def test_a_dead_anchor_is_noticed(link: str, is_dead: bool) -> None:
    text = f"# The heading\n\n(a-label)=\n## The heading\n\n{link}\n"
    assert dead_links(text, ROOT / "README.md") == [link.removeprefix("[a")] * is_dead


def test_every_page_begins_with_a_title_and_a_sentence() -> None:
    wrong = []
    for page in set(pages()) - {ROOT / "CHANGELOG.md"}:
        lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.strip()]
        if not (lines[0].startswith("# ") and len(lines) > 2 and lines[1][0] not in "|`#"):
            wrong.append(page.name)
    assert wrong == []
