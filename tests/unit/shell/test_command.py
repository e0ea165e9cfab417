"""Words survive the way through a real POSIX shell, whatever is in them."""

import random
import subprocess

import pytest

from hvdocker.shell.command import Command, command, shell

NASTY = (
    "", " ", "two words", "'", '"', "it's \"quoted\"", "$HOME", "$(id)", "`id`", "a;b", "a&&b", "a|b", ">x",
    "*", "?", "[a]", "~", "~/x", "#no comment", "!", "\\", "\\n", "line\nbreak", "\ttab", "-n", "--", "-rf",
    "한국어", "é", "a=b", "{a,b}", "%s", "\r", "\x01",
)  # fmt: skip


def words_after_a_shell(line: str) -> list[str]:
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def echo(*words: str) -> Command:
    return command("printf", r"%s\0", *words)


@pytest.mark.parametrize("word", NASTY)
def test_a_nasty_word_comes_back_unchanged(word: str) -> None:
    assert words_after_a_shell(echo(word).line()) == [word]


def test_all_nasty_words_at_once_and_in_any_mixture() -> None:
    choice = random.Random(20260102)
    mixtures = ["".join(choice.choices(NASTY, k=4)) for _ in range(200)]
    assert words_after_a_shell(echo(*NASTY, *mixtures).line()) == [*NASTY, *mixtures]


def test_words_survive_two_shells() -> None:
    """A command over SSH is read by the login shell, and ours hands it to sh -c."""
    outer = command("sh", "-c", echo(*NASTY).line())
    assert words_after_a_shell(outer.line()) == list(NASTY)


def test_a_scripts_arguments_need_no_quoting_in_it() -> None:
    made = shell(r'printf "%s\0" "$@"', *NASTY)
    assert made.argv[:4] == ("sh", "-c", r'LC_ALL=C; export LC_ALL; printf "%s\0" "$@"', "sh")
    assert words_after_a_shell(made.line()) == list(NASTY)


def test_as_root_asks_for_no_password() -> None:
    assert command("docker", "ps").as_root() == Command(("sudo", "-n", "docker", "ps"))


def test_a_scripts_programs_speak_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    done = subprocess.run(shell('sh -c "echo $LC_ALL"').argv, capture_output=True, check=True)
    assert done.stdout == b"C\n"
