"""The checks' words."""

from inside.checks.check import last_lines, main


def test_the_last_lines_are_those_with_words() -> None:
    assert last_lines(b"one\ntwo\r\n\nthree\nfour\n \n") == "two\nthree\nfour"


def test_wrong_words_are_a_usage_error() -> None:
    assert main(["sshd", "198.18.0.2"]) == 2
    assert main(["mesh"]) == 2
