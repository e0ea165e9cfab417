"""Links between pages lead to files and headings that are there."""

import re
import unicodedata
from pathlib import Path

import pytest

from tests.documentation import ROOT, pages

LINK = re.compile(r"\]\((?P<path>[^()#:\s]*)(?:#(?P<anchor>[^()\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
LABEL = re.compile(r"^\((.+)\)=$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(heading) for heading in HEADING.findall(text)} | set(LABEL.findall(text))


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MyST make it."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    kept = (sign for sign in plain if sign in "-_ " or unicodedata.category(sign)[0] in "LN")
    return "".join(kept).replace(" ", "-")


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.name))
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for found in LINK.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / found["path"]).resolve() if found["path"] else page
        if not target.exists() or (found["anchor"] and found["anchor"] not in anchors(target)):
            dead.append(found[0])
    assert dead == []


def test_every_page_begins_with_a_title_and_a_sentence() -> None:
    wrong = []
    for page in set(pages()) - {ROOT / "CHANGELOG.md"}:
        lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.strip()]
        if not (lines[0].startswith("# ") and len(lines) > 2 and lines[1][0] not in "|`#"):
            wrong.append(page.name)
    assert wrong == []
