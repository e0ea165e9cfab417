"""Frames the output of a command, so that nothing else that a host prints counts as an answer. Pure.

sshd hands a command line to the user's login shell. The shell's start-up file may print lines, set the terminal's
title or complain on standard error before our command runs. A wrapper of the administrator (ForceCommand) may print
after our command. So a mark precedes the command's output on both streams, and another mark follows it;
everything outside of the marks is dropped.

The login shell need not be a POSIX shell: fish and csh quote differently, and csh refuses a newline in quotes
and expands `!` in them. So the actual command is encoded: single quotes, backslashes, `!` and all bytes that are not
printable ASCII become octal escapes. The login shell sees the result as one word in single quotes. `sh` decodes this
word with `printf %b` and runs the command.

Start-up files also export variables that change what programs do: POSIXLY_CORRECT and TAR_OPTIONS for GNU tools,
TMOUT, SHELLOPTS and functions (named `rm` or `tar`) where `sh` is bash. So a framed command gets a new
environment, with only the variables that it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hvdocker.shell.command import Command

_PLAIN = frozenset(range(0x20, 0x7F)) - set(b"'\\!")
# DOCKER_HOST and XDG_RUNTIME_DIR lead to the engine's socket, DOCKER_CONFIG to the logins of registries.
# LD_LIBRARY_PATH is where programs outside of the system's folders find their libraries, such as nvidia-smi.
_KEPT_VARIABLES = (
    *("HOME", "PATH", "USER", "LOGNAME", "SHELL", "SSH_CONNECTION"),
    *("DOCKER_HOST", "DOCKER_CONFIG", "XDG_RUNTIME_DIR", "LD_LIBRARY_PATH"),
)


class Frame:
    """The two marks of one command: lines printed before and after its output. `token` is random, so that the
    command's own output cannot contain the marks."""

    def __init__(self, token: str) -> None:
        self._token = token
        self.start = f"hvdocker-start-{token}\n".encode()
        self.end = f"hvdocker-end-{token}\n".encode()
        self._code_line = re.compile(rb"hvdocker-code-%b (\d+)\n" % token.encode())

    def line(self, command: Command) -> bytes:
        """Return the line for the user's login shell that runs the command and prints the marks before and after its
        output. It exits with the command's exit code. It works in any common login shell."""
        return self._line(command)

    def coded_line(self, command: Command) -> bytes:
        """Return a line like that of `line`, which in addition prints the command's exit code on standard error. The
        method `exit_code` finds the code there."""
        return self._line(command, f"echo hvdocker-code-{self._token} $code >&2; ")

    def _line(self, command: Command, then: str = "") -> bytes:
        """Return the line that runs the command between the marks. The shell script `then` runs after the command; it
        finds the command's exit code in `$code`."""
        end = f"hvdocker-end-{self._token}"
        script = f"{self._start_marks()}; {command.line()}; code=$?; echo {end}; {then}echo {end} >&2; exit $code"
        return _new_environment_line(script)

    def open_line(self, command: Command) -> bytes:
        """Return the line for the user's login shell that runs a command without an end of its own, such as a tunnel,
        until the channel is closed. Only the first mark is printed, because the command replaces the shell."""
        return _new_environment_line(f"{self._start_marks()}; exec {command.line()}")

    def _start_marks(self) -> str:
        word = f"hvdocker-start-{self._token}"
        return f"echo {word}; echo {word} >&2"

    def errors(self, raw: bytes) -> bytes:
        """Return what the command itself printed on standard error. `raw` is all that arrived there.

        If the first mark is missing, `raw` is returned unchanged: then the login shell did not run the command, and
        `raw` says why."""
        _, mark, own = raw.partition(self.start)
        return self._code_line.sub(b"", own.partition(self.end)[0]) if mark else raw

    def exit_code(self, raw: bytes) -> int | None:
        """Return the exit code that the line of `coded_line` printed, or None if it was not printed. `raw` is what
        arrived on standard error, or only the end of that."""
        found = self._code_line.search(raw)
        return int(found[1]) if found else None


class FrameError(Exception):
    """A mark of a frame is missing in the output of a command, so the output is not complete.

    `printed` is what the host printed, if the first mark is missing. It is None if only the last mark is missing."""

    def __init__(self, printed: bytes | None) -> None:
        super().__init__("the output of a command has no frame")
        self.printed = printed


def framed_output(frame: Frame, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a command's output between the marks of `frame` as it arrives. `chunks` are the bytes that the host sends.
    They are not read beyond the last mark. Raise FrameError at their end if a mark is missing."""
    incoming = iter(chunks)
    pending = _after_start(frame, incoming)
    while True:
        output, mark, _ = pending.partition(frame.end)
        if mark:
            if output:
                yield output
            return
        ready = len(pending) - _begun_mark(frame.end, pending)
        if ready > 0:
            yield pending[:ready]
            pending = pending[ready:]
        chunk = next(incoming, None)
        if chunk is None:
            if pending:
                yield pending
            raise FrameError(None)
        pending += chunk


def _begun_mark(mark: bytes, data: bytes) -> int:
    """Return how many bytes at the end of `data` may be the beginning of `mark`. The caller keeps these bytes back
    until more data shows whether they are the mark."""
    return next((size for size in range(len(mark) - 1, 0, -1) if data.endswith(mark[:size])), 0)


def _after_start(frame: Frame, incoming: Iterator[bytes]) -> bytes:
    """Read chunks of `incoming`, the bytes that the host sends, until the first mark of the frame has arrived. Return
    the bytes after the mark in the last chunk. Raise FrameError if the mark does not arrive."""
    noise = b""
    for chunk in incoming:
        noise += chunk
        _, mark, rest = noise.partition(frame.start)
        if mark:
            return rest
    raise FrameError(noise)


def login_shell_line(script: str) -> bytes:
    """Return a line that makes every common login shell (bash, zsh, dash, fish, csh) run `script` in `sh` unchanged.

    The script runs in the environment that the login shell exports. Bytes of the script that are not UTF-8 are given as
    surrogate escapes."""
    return f"exec sh -c 'eval \"$(printf %b \"$1\")\"' sh '{_encoded(script)}'".encode()


def _new_environment_line(script: str) -> bytes:
    """Return a line that makes every common login shell run `script` in `sh` unchanged, with only the environment
    variables in `_KEPT_VARIABLES`."""
    # An unset variable must stay unset: `${NAME+word}` then expands to nothing, also under `set -u`.
    kept = " ".join(f'${{{name}+"{name}=${name}"}}' for name in _KEPT_VARIABLES)
    return f"exec sh -c 'exec env -i {kept} sh -c \"$(printf %b \"$1\")\"' sh '{_encoded(script)}'".encode()


def _encoded(script: str) -> str:
    return "".join(
        chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in script.encode("utf-8", "surrogateescape")
    )
