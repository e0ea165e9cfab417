"""Frames around the output of commands: nothing that a host prints besides counts as an answer."""

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hvdocker.shell.command import Command, shell
from hvdocker.transport.ssh.framing import Frame, FrameError, framed_output, login_shell_line

FRAME = Frame("5eed")
ODD_WORDS = (
    "it's", 'say "hi"', "back\\slash", "new\nline", "bang!", "$HOME `id`", "%s %b \\0101", "", "\udcff\udce9", "한글"
)  # fmt: skip


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("noise", [b"", b"welcome\n", b"\x1b]0;title\x07", b"hvdocker-start-0000\n"])
@pytest.mark.parametrize("output", [b"", b"a line\n", b"no newline", b"hvdocker-end-", b"\0\xff" * 50])
def test_noise_around_the_output_is_dropped(size: int, noise: bytes, output: bytes) -> None:
    raw = noise + FRAME.start + output + FRAME.end + noise
    assert b"".join(framed_output(FRAME, cut(raw, size))) == output


def test_output_is_passed_on_before_the_command_ends() -> None:
    arrived = framed_output(FRAME, itertools.chain([FRAME.start, b"begun\n"], _never()))
    assert next(arrived) == b"begun\n"


def _never() -> "itertools.chain[bytes]":
    raise AssertionError("the command still runs")
    yield b""


def test_a_shell_that_does_not_run_the_command_is_an_error() -> None:
    with pytest.raises(FrameError) as error:
        list(framed_output(FRAME, [b"This account is ", b"not available.\n"]))
    assert error.value.printed == b"This account is not available.\n"


def test_output_without_an_end_is_passed_on_and_is_an_error() -> None:
    arrived = framed_output(FRAME, [FRAME.start, b"half of "])
    got = []
    with pytest.raises(FrameError) as error:
        got.extend(arrived)
    assert error.value.printed is None


def test_errors_are_only_the_commands_own() -> None:
    assert FRAME.errors(b"quota: 91%\n" + FRAME.start + b"tar: no\n") == b"tar: no\n"
    assert FRAME.errors(FRAME.start + b"tar: no\n" + FRAME.end + b"logged out\n") == b"tar: no\n"
    assert FRAME.errors(b"fish: Unknown command\n") == b"fish: Unknown command\n"


def test_the_line_for_login_shells_is_harmless_to_all_of_them() -> None:
    line = login_shell_line("echo 'a!b' \\\n \udcff")
    prefix, quote, rest = line.partition(b" sh '")
    assert prefix == b'exec sh -c \'eval "$(printf %b "$1")"\'' and quote
    assert rest == b"echo \\0047a\\0041b\\0047 \\0134\\0012 \\0377'"


# The lab's hosts have zsh, fish and tcsh as login shells; these are the shells of this machine.
@pytest.mark.parametrize("login_shell", ["sh", "bash", "dash"])
def test_words_arrive_unchanged_through_a_login_shell(login_shell: str, tmp_path: Path) -> None:
    assert shutil.which(login_shell), "every Debian machine has it"
    line = FRAME.line(shell('printf "[%s]" "$@"; echo trouble >&2; exit 7', *ODD_WORDS))
    done = subprocess.run([login_shell, "-c", line], capture_output=True, cwd=tmp_path)
    wanted = "".join(f"[{word}]" for word in ODD_WORDS).encode("utf-8", "surrogateescape")
    assert b"".join(framed_output(FRAME, [done.stdout])) == wanted
    assert (done.returncode, FRAME.errors(done.stderr)) == (7, b"trouble\n")


@pytest.mark.parametrize("login_shell", ["sh", "bash", "dash"])
def test_variables_and_functions_of_a_start_up_file_change_no_command(login_shell: str, tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to(str(shutil.which("bash")))  # as on Fedora, RHEL and SUSE
    (tmp_path / "file").write_text("old\n")
    odd = {"POSIXLY_CORRECT": "1", "SHELLOPTS": "nounset:noclobber", "BASH_FUNC_cat%%": "() { echo mine; }"}
    needed = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": '/home/it\'s "me"', "DOCKER_HOST": ""}
    script = 'echo new > file; cat file; echo "$HOME|${DOCKER_HOST-unset}|${USER-unset}|$unset"; env'
    line = FRAME.line(shell(script))
    done = subprocess.run([login_shell, "-c", line], capture_output=True, cwd=tmp_path, env=odd | needed)
    answer = b"".join(framed_output(FRAME, [done.stdout])).decode()
    assert answer.startswith('new\n/home/it\'s "me"||unset|\n'), done.stderr
    assert "POSIXLY_CORRECT" not in answer


def test_a_coded_line_tells_its_exit_code_on_standard_error() -> None:
    frame = Frame("5eed")
    line = frame.coded_line(shell("echo out; echo err >&2; exit 7")).decode()
    done = subprocess.run(["sh", "-c", line], capture_output=True)
    assert done.returncode == 7 and frame.exit_code(done.stderr) == 7
    assert frame.errors(done.stderr) == b"err\n"
    assert b"".join(framed_output(frame, [done.stdout])) == b"out\n"
    assert frame.exit_code(b"hvdocker-code-other 7\n") is None


def test_a_tunnel_has_only_the_first_mark() -> None:
    done = subprocess.run(["sh", "-c", FRAME.open_line(Command(("echo", "hello")))], capture_output=True)
    assert done.stdout == FRAME.start + b"hello\n"
