"""Words of the project's former private language stay out of code, help and docs.

An engineer cannot guess them or search for them. Each comes with the words to use instead."""

import re
from pathlib import Path

import pytest

from tests.documentation import GENERATED

ROOT = Path(__file__).parents[2]
SEARCHED = ("hvdocker", "images", "templates", "examples", "docs", "bench", "tests")
SINGLE_FILES = ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")
TEXT = ("", ".py", ".md", ".sh", ".toml", ".j2", ".yaml", ".txt", ".gpu")

INSTEAD = {
    "anew": "again; a job is restarted, a worker is replaced",
    "whoever": "the user, the caller, the host that",
    "of its own accord": "by itself",
    "for ever": "without limit",
    "brood": "descendants",
    "vigil": "wait",
    "errands?": "request, command",
    "papers": "capsule, job files",
    "sightings?": "observed state",
    "swarm": "fan-out",
    "leavings": "leftovers",
    "relink": "reconnect",
    "seats?": "job host",
    "extent": "scope",
    "insist": "finish despite Ctrl-C",
    "undisturbed": "uninterrupted",
    "endurance": "resilience",
    "struck": "dropped host",
}
# Keys of files on hosts and in capsules: a cluster or a job of an earlier version has to be understood.
STORED_KEYS = re.compile(r"""["']endurance["']|["']struck["']|\(key `endurance`\)""")
# Fields that capsules store by their names (training/make_capsule.py).
STORED_FIELDS = re.compile(r"\bendurance(: ResilienceFlags|=)|request\.endurance\b")
WORDS = {word: re.compile(rf"(?<![a-z]){word}(?![a-z])", re.IGNORECASE) for word in INSTEAD}


def searched_files() -> list[Path]:
    found = [path for folder in SEARCHED for path in (ROOT / folder).rglob("*")]
    found += [ROOT / name for name in SINGLE_FILES]
    return [
        path
        for path in found
        if path.is_file()
        and path.suffix in TEXT
        and path != Path(__file__)
        and not {"__pycache__", *GENERATED} & set(path.relative_to(ROOT).parts)
    ]


def uses(text: str, word: re.Pattern[str]) -> list[int]:
    """Return the lines with the word, also as a part of a name such as `started_anew`."""
    return [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if word.search(STORED_FIELDS.sub("", STORED_KEYS.sub("", line)))
    ]


@pytest.mark.parametrize("word", WORDS)
def test_the_old_language_does_not_come_back(word: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in searched_files()
        for line in uses(path.read_text(encoding="utf-8", errors="replace"), WORDS[word])
    ]
    assert wrong == [], f"say instead: {INSTEAD[word]}"


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("the job is started anew", [1]),
        ("def launch_anew() -> None: ...", [1]),
        ("# Whoever waits", [1]),
        ('value.get("endurance")', []),
        ("a renewed lease", []),
        ("extended", []),
    ],
)
def test_words_are_found_in_prose_and_in_names(line: str, lines: list[int]) -> None:
    assert sorted({number for word in WORDS.values() for number in uses(line, word)}) == lines
