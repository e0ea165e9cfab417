"""The man page has every command and every flag, and only macros of man(7)."""

import re

import pytest

from hvdocker.cli.man_page import man_page
from tests.unit.cli.test_help import HELP, VERBS, command_of


@pytest.fixture(scope="module")
def page() -> str:
    return man_page()


def test_every_command_and_flag_is_in_it(page: str) -> None:
    plain = page.replace(r"\-", "-")
    sections = dict(re.findall(r'^\.SS "hvdocker (.*?)"\n(.*?)(?=^\.S)', plain, re.MULTILINE | re.DOTALL))
    assert set(sections) == {" ".join(words) for words in (HELP, *VERBS)}
    for words in VERBS:
        flags = [flag for parameter in command_of(words).params for flag in parameter.opts if flag.startswith("-")]
        assert [flag for flag in flags if rf"\fB{flag}\fR" not in sections[" ".join(words)]] == []


def test_it_leaks_no_marks_of_rich(page: str) -> None:
    assert "[bold]" not in page and "[/]" not in page


def test_lines_that_begin_with_a_dot_are_macros_of_man(page: str) -> None:
    words = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert words == {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".nf", ".fi"}
