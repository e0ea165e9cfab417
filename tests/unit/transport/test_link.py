import pytest

from hvdocker.errors import HvdockerError
from hvdocker.shell.command import command, shell
from hvdocker.transport.link import CommandResult, run_or_raise
from hvdocker.transport.local_link import LocalLink
from tests.unit.fakes import FakeLink


def test_a_command_that_must_succeed_shows_itself_and_its_last_words() -> None:
    said = "\n".join(f"line {number}" for number in range(20)).encode()
    link = FakeLink("b", lambda command, stdin: (7, b"", said))
    with pytest.raises(HvdockerError) as caught:
        run_or_raise(link, command("df", "-h", "my disk"), "looking failed", fix="look again")
    error = caught.value
    assert str(error) == "b: looking failed (exit 7)"
    assert error.command == "ssh b df -h 'my disk'"
    assert error.lines == tuple(f"line {number}" for number in range(10, 20))
    assert error.fix == "look again"


def test_a_very_long_command_is_cut() -> None:
    link = FakeLink("b", lambda command, stdin: (1, b"", b""))
    with pytest.raises(HvdockerError) as caught:
        run_or_raise(link, command("rm", *["x" * 50] * 100), "removing failed")
    assert caught.value.command and len(caught.value.command) < 450


def test_standard_input_reaches_the_command() -> None:
    link = FakeLink()
    run_or_raise(link, command("cat"), "x", [b"one", b"two"])
    assert link.ran == [(command("cat"), b"onetwo")]


def test_errors_are_the_first_choice_of_last_words() -> None:
    assert CommandResult(command("x"), 1, b"out\n", b"err\n").tail() == ["err"]
    assert CommandResult(command("x"), 1, b"out\n", b" \n").tail() == ["out"]
    assert CommandResult(command("x"), 1, b"1\n2\n3\n", b"").tail(2) == ["2", "3"]


def test_this_machine_as_a_link() -> None:
    link = LocalLink("w1")
    result = link.run(shell("cat; echo oops >&2; exit 3"), [b"a", b"b"])
    assert (result.code, result.out, result.err) == (3, b"ab", b"oops\n")
    assert b"".join(link.stream(command("printf", "%s", "x" * 100000))) == b"x" * 100000
    assert link.pasteable(command("echo", "a b")) == "echo 'a b'"
    link.close()


def test_a_stream_that_fails_says_so_at_its_end() -> None:
    chunks = []
    with pytest.raises(HvdockerError) as caught:
        chunks.extend(LocalLink("w1").stream(shell("echo some; echo oops >&2; exit 3")))
    assert chunks == [b"some\n"]
    assert (str(caught.value), caught.value.lines) == ("w1: a command failed (exit 3)", ("oops",))
