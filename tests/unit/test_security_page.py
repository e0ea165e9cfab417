"""docs/security.md names tests: they are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_exists() -> None:
    written = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    named_files = set(re.findall(r"\btest_\w+\.py\b", PAGE))
    named_tests = set(re.findall(r"\btest_\w+\b(?!\.py)", PAGE))
    assert len(named_tests) > 15 and named_files <= files
    assert {name for name in named_tests if f"def {name}(" not in written} == set()


def test_the_page_says_what_is_not_promised() -> None:
    assert "neither encrypted nor authenticated" in PAGE and "`network:`" in PAGE
