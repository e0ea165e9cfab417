"""Reads the documentation for tests: its pages, and the commands of its fenced `console` blocks."""

import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What Sphinx writes into docs/.
GENERATED = {"_build", "packages", "repository"}
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^( *)```(?P<language>\w+)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


@dataclass(frozen=True)
class ShownCommand:
    """A command line of a console block as a reader types it, without the prompt. `output` are the lines that the
    page shows below it; `…` stands for any text."""

    line: str
    output: tuple[str, ...] = ()

    @property
    def words(self) -> list[str]:
        """The words of the command, without comment, redirection and what follows a `|` or `&&`."""
        lexer = shlex.shlex(self.line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words = list(lexer)
        end = next((at for at, word in enumerate(words) if set(word) <= set("|&;<>")), len(words))
        return words[:end]


@dataclass(frozen=True)
class ConsoleBlock:
    page: Path
    line: int
    commands: tuple[ShownCommand, ...]

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Return every page that people read, in a fixed order."""
    inside = (page for page in (ROOT / "docs").rglob("*.md") if not GENERATED & set(page.relative_to(ROOT).parts))
    return [
        *sorted(ROOT.glob("*.md")),
        *sorted(inside),
        *sorted((ROOT / "examples").glob("*/README.md")),
        ROOT / "keys" / "README.md",
    ]


def console_blocks(page: Path) -> Iterator[ConsoleBlock]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        yield ConsoleBlock(page, text.count("\n", 0, found.start()) + 1, tuple(_commands(found[1].splitlines())))


def all_console_blocks() -> list[ConsoleBlock]:
    return [block for page in pages() for block in console_blocks(page)]


def fenced(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a language (python, yaml, text) of a page, without their indentation."""
    found = FENCED.finditer(page.read_text(encoding="utf-8"))
    return [textwrap.dedent(block["text"]) for block in found if block["language"] == language]


def script(page: Path, *words: str) -> str:
    """Return the Python block of a page that is a whole script and has these words."""
    (found,) = (text for text in fenced(page, "python") if text.startswith("import ") and all(w in text for w in words))
    return found


def _commands(lines: list[str]) -> Iterator[ShownCommand]:
    assert lines and lines[0].startswith(PROMPT), f"a console block begins with a command: {lines}"
    starts = [at for at, line in enumerate(lines) if line.startswith(PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield ShownCommand(lines[start].removeprefix(PROMPT), tuple(lines[start + 1 : end]))
