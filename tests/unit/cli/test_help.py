"""Every verb explains itself, fits a terminal and stands in the README; help costs no heavy import."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from hvdocker.cli.app import app
from hvdocker.model.parse import parse

README = Path(__file__).parents[3] / "README.md"
HEAVY = ("fabric", "paramiko", "docker", "requests", "jinja2", "yaml", "cryptography")


def verbs(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, by the words that name it."""
    children = getattr(command, "commands", None)
    if not children:
        yield path
        return
    for name, child in children.items():
        yield from verbs(child, (*path, name))


VERBS = sorted(verbs(typer.main.get_command(app)))
PAGES = [(), ("image",), *VERBS]

# Runs several command lines in one interpreter; says for each its code and output, and what was imported.
RUNNER = """
import contextlib, io, json, sys
from hvdocker.cli.main import main
for line in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    code = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(line)
        except SystemExit as end:
            code = end.code
    heavy = [name for name in %r if name in sys.modules]
    print(json.dumps([code, out.getvalue(), err.getvalue(), heavy]))
""" % (HEAVY,)  # noqa: UP031  # braces are the script's own


def in_a_fresh_interpreter(*lines: tuple[str, ...]) -> list[tuple[int, str, str, list[str]]]:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def pages() -> dict[tuple[str, ...], str]:
    answers = in_a_fresh_interpreter(*((*words, "--help") for words in PAGES))
    assert [answer[0] for answer in answers] == [0] * len(PAGES)
    return {words: answer[1] for words, answer in zip(PAGES, answers, strict=True)}


def test_the_verbs_are_these() -> None:
    wanted = {
        ("up",),
        ("status",),
        ("train",),
        ("logs",),
        ("stop",),
        ("fetch",),
        ("down",),
        ("image", "build"),
    }
    assert wanted <= set(VERBS)


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_fits_80_columns(pages: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    assert [line for line in pages[words].splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_leaks_nothing_of_the_code(pages: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    page = pages[words]
    for leak in ("None", "[/", "[bold", "PATH_TYPE", "Annotated"):
        assert leak not in page


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_and_every_flag_has_help(words: tuple[str, ...]) -> None:
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    assert command.help and command.get_short_help_str(200)
    parameters = [p for p in command.params if not getattr(p, "hidden", False)]
    assert [parameter.name for parameter in parameters if not getattr(parameter, "help", None)] == []


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_stands_in_the_readme(words: tuple[str, ...]) -> None:
    assert f"hvdocker {' '.join(words)}" in README.read_text(encoding="utf-8")


def test_the_readmes_inventory_parses() -> None:
    blocks = README.read_text(encoding="utf-8").split("```yaml\n")[1:]
    inventories = [text for text in (block.split("```")[0] for block in blocks) if "hosts:" in text]
    assert inventories
    for text in inventories:
        assert parse(text, "README.md", "here").hosts


def test_abbreviation_h_is_help_too() -> None:
    [(code, out, _, _)] = in_a_fresh_interpreter(("-h",))
    assert code == 0 and "Usage: hvdocker" in out


def test_help_and_usage_errors_cost_no_heavy_import() -> None:
    lines = (
        ("--help",),
        ("up", "--help"),
        ("train", "--help"),
        ("up", "--nope"),
        ("nosuchverb",),
        ("--version",),
    )
    answers = in_a_fresh_interpreter(*lines)
    assert [answer[0] for answer in answers] == [0, 0, 0, 2, 2, 0]
    assert answers[-1][3] == []


def test_the_entry_point_is_installed() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("hvdocker"), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("hvdocker ")
