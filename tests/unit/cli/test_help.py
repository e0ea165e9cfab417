"""Every verb explains itself, fits a terminal and stands in the reference; help costs no heavy import."""

import json
import os
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import typer.main

from hvdocker.cli.app import app
from hvdocker.cli.pages.layout import section
from hvdocker.cli.verb_table import VERBS as ALL_VERBS
from hvdocker.errors import ExitCode

REPOSITORY = Path(__file__).parents[3]
REFERENCE = REPOSITORY / "docs" / "reference" / "commands.md"
HEAVY = (
    "fabric", "invoke", "paramiko", "docker", "requests", "urllib3", "jinja2", "yaml",
    "cryptography", "hvdocker.inventory.parse", "hvdocker.transport", "hvdocker.engine", "hvdocker.cluster",
    "hvdocker.jobs", "hvdocker.training", "hvdocker.images", "hvdocker.doctor",
)  # fmt: skip


# Not a verb that does something.
HELP = ("help",)


def verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, by the words that name it."""
    if not hasattr(command, "commands"):
        yield path
        return
    for name in command.commands:
        yield from verbs(child_of(command, name), (*path, name))


def child_of(command: Any, name: str) -> Any:
    """Loaded, as a command line that names it does."""
    return command.resolve_command(command.make_context("hvdocker", ["x"], resilient_parsing=True), [name])[1]


def command_of(words: tuple[str, ...]) -> Any:
    return reduce(child_of, words, typer.main.get_command(app))


VERBS = sorted(set(verbs(typer.main.get_command(app))) - {HELP})
PAGES = [(), ("image",), ("keys",), ("lock",), HELP, *VERBS]

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


def in_a_fresh_interpreter(
    *lines: tuple[str, ...], environment: Mapping[str, str] = os.environ
) -> list[tuple[int, str, str, list[str]]]:
    environment = {**environment, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(REPOSITORY)}
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
        ("init",),
        ("config",),
        ("up",),
        ("status",),
        ("train",),
        ("logs",),
        ("stop",),
        ("fetch",),
        ("down",),
        ("image", "build"),
        ("image", "push"),
        ("keys", "rotate"),
        ("lock", "status"),
        ("lock", "release"),
    }
    assert wanted <= set(VERBS)


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_fits_80_columns(pages: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    assert [line for line in pages[words].splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_leaks_nothing_of_the_code(pages: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    page = pages[words]
    for leak in ("None", "[/", "[bold", "PATH_TYPE", "Annotated", "<bool>", "<str>", "list["):
        assert leak not in page


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_and_every_flag_has_help(words: tuple[str, ...]) -> None:
    command = command_of(words)
    assert command.help and command.get_short_help_str(200)
    parameters = [p for p in command.params if not getattr(p, "hidden", False)]
    assert [parameter.name for parameter in parameters if not getattr(parameter, "help", None)] == []


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_verb_and_every_flag_stand_in_the_reference(words: tuple[str, ...]) -> None:
    _, _, rest = REFERENCE.read_text(encoding="utf-8").partition(f"\n## hvdocker {' '.join(words)}\n")
    section = rest.partition("\n## ")[0]
    flags = [p for p in command_of(words).params if p.param_type_name == "option" and not p.hidden]
    assert section and [name for flag in flags for name in flag.opts if f"`{name}`" not in section] == []


def test_abbreviation_h_is_help_too() -> None:
    [(code, out, _, _)] = in_a_fresh_interpreter(("-h",))
    assert code == 0 and "Usage: hvdocker" in out


@pytest.mark.parametrize("name", ALL_VERBS)
def test_the_list_of_verbs_says_what_the_verbs_say(name: str) -> None:
    real = command_of((name,))
    assert real.name == name
    assert ALL_VERBS[name].help == real.help.splitlines()[0]


def test_a_verb_that_is_nearly_right_is_named() -> None:
    [(code, _, err, _)] = in_a_fresh_interpreter(("trian",))
    assert code == 2 and "did you mean: hvdocker train\n" in err


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_costs_no_heavy_import(words: tuple[str, ...]) -> None:
    """Each in an interpreter of its own: what one page imports must not hide what another does."""
    [answer] = in_a_fresh_interpreter((*words, "--help"))
    assert (answer[0], answer[3]) == (0, [])


@pytest.mark.parametrize(
    ("line", "code"),
    [("--version", 0), ("", 2), ("up --nope", 2), ("nosuchverb", 2), ("train train.py -np two", 2),
     ("train train.py --frobnicate", 2)],
)  # fmt: skip
def test_usage_errors_cost_no_heavy_import(line: str, code: int) -> None:
    [answer] = in_a_fresh_interpreter(tuple(line.split()))
    assert (answer[0], answer[3]) == (code, [])


def test_the_list_of_verbs_imports_none_of_them() -> None:
    script = "import sys, hvdocker.cli.app; print([m for m in sys.modules if m.startswith('hvdocker.cli.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(literal_eval(done.stdout)) & {f"hvdocker.cli.{name}" for name in ALL_VERBS} == set()


@pytest.mark.parametrize(("typed", "offered"), [("hvdocker tr", "train"), ("hvdocker train --sta", "--start-timeout")])
def test_completion_offers_words_and_costs_no_heavy_import(typed: str, offered: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    environment = {**os.environ, **words, "_HVDOCKER_COMPLETE": "complete_bash"}
    [(_, out, _, heavy)] = in_a_fresh_interpreter((), environment=environment)
    assert (out.split(), heavy) == ([offered], [])


def test_the_entry_point_is_installed() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("hvdocker"), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("hvdocker ")


def test_the_root_page_fits_a_terminal_of_24_lines_with_its_prompt(pages: dict[tuple[str, ...], str]) -> None:
    assert len(pages[()].splitlines()) <= 23
    for name in ALL_VERBS:
        assert f" {name} " in pages[()]


@pytest.mark.parametrize("words", [HELP, *VERBS], ids=" ".join)
def test_every_verb_shows_an_example(pages: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    assert f"\n  hvdocker {' '.join(words)}" in pages[words]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_is_drawn_without_boxes(pages: dict[tuple[str, ...], str], words: tuple[str, ...]) -> None:
    assert not set("╭│╰─") & set(pages[words])


def test_options_that_most_verbs_share_are_only_named_and_explained_by_help_verb() -> None:
    [(_, short, _, _), (_, full, _, _)] = in_a_fresh_interpreter(("train", "-h"), ("help", "train"))
    assert "\nAlso -i, --cluster, " in short and "see hvdocker help train\n" in short
    assert "--skip-hooks  " not in short and "--skip-hooks  " in full
    for heading in ("What runs:", "Where:", "For the ranks:", "When it fails:", "How:"):
        assert f"\n{heading}\n" in short and f"\n{heading}\n" in full


@pytest.mark.parametrize(
    ("topic", "told"),
    [("inventory", "  mounts: "), ("exit-codes", "  103  "), ("environment", "  HVDOCKER_INVENTORY  ")],
)
def test_help_has_pages_of_topics(topic: str, told: str) -> None:
    [(code, out, _, heavy)] = in_a_fresh_interpreter(("help", topic))
    assert code == 0 and told in out and max(map(len, out.splitlines())) <= 80
    assert set(heavy) <= {"yaml"}


def test_help_of_several_words_and_of_none() -> None:
    answers = in_a_fresh_interpreter(
        ("help", "image", "build"), ("help",), ("-h",), ("help", "nope"), ("help", "up", "x")
    )
    assert "Usage: hvdocker image build " in answers[0][1] and "-i, --inventory FILE" in answers[0][1]
    assert answers[1][:2] == answers[2][:2]
    assert [answer[0] for answer in answers] == [0, 0, 0, 2, 2]


def test_a_narrow_page_breaks_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [("HVDOCKER_REGISTRY_USER", "see docs/reference/environment.md#registry-password")]
    assert "docs/reference/environment.md#registry-password" in " ".join(section("x", rows, 23))


def test_help_has_every_exit_code() -> None:
    [(_, out, _, _)] = in_a_fresh_interpreter(("help", "exit-codes"))
    assert [int(line.split()[0]) for line in out.splitlines() if line[2:3].isdigit()] == list(map(int, ExitCode))
