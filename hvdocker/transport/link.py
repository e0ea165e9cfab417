"""The interface to a host: commands, streams and the Docker engine over one connection. This file opens no
connection itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hvdocker.errors import HvdockerError
from hvdocker.shell.command import Command

if TYPE_CHECKING:
    from docker import APIClient

COMMAND_TIMEOUT_S = 120.0
_CHUNK = 1 << 20


@dataclass(frozen=True)
class CommandResult:
    """The outcome of a command that ran to its end: exit code, standard output and standard error."""

    command: Command
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape")

    def tail(self, count: int = 10) -> list[str]:
        """Return the last `count` lines of standard error, or of standard output if standard error is empty. Used in
        error messages."""
        spoken = self.err.strip() or self.out.strip()
        return spoken.decode("utf-8", "replace").splitlines()[-count:]


@dataclass(frozen=True)
class LargeInput:
    """The standard input of a command, which may be large. `chunks` yields its bytes, about `size` in total. `streams`
    is the number of hosts, including this one, that receive an input of this size at the same time.

    Over SSH, an `ssh` process sends a large input, because it is faster than the open connection. If the input is
    exactly the content of a file, `path` names this file, and the `ssh` process may read it directly. In that case
    `chunks` is not read, and `on_sent` is called with the number of bytes sent so far. An error that `on_sent` raises
    ends the transfer."""

    chunks: Iterable[bytes]
    size: int
    streams: int = 1
    path: Path | None = None
    on_sent: Callable[[int], None] = lambda done: None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)


def input_from_file(path: Path, on_sent: Callable[[int], None], size: int, streams: int = 1) -> LargeInput:
    """Return the content of the file `path` as the standard input of a command. The file is read only while the command
    runs.

    `size` is the file's size in bytes. `on_sent` is called with the number of bytes sent so far. `streams` is the
    number of hosts, including this one, that receive the file at the same time."""

    def chunks() -> Iterator[bytes]:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
                on_sent(file.tell())

    return LargeInput(chunks(), size, streams, path, on_sent)


class HostLink(Protocol):
    """One open connection to one host. Commands, streams and requests to the Docker engine all use this connection, and
    all end when it is closed. `name` is the host's name in the inventory."""

    name: str

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        """Run a command to its end and return its result. A non-zero exit raises nothing. Raise HostUnreachable if the
        connection is lost, and CommandTimeout if the command takes longer than `timeout_s` (None: no limit). Over SSH
        the limit counts from the last piece of standard output.

        `stdin` has the bytes of the command's standard input; None means empty input. With `stdin` there is no time
        limit, because sending a large input may take any time."""
        ...

    def stream(self, command: Command, stdin: Iterable[bytes] | None = None) -> Iterator[bytes]:
        """Run a command and yield its standard output as it arrives. `stdin` are the bytes of its standard input; None
        means empty input. Raise HvdockerError at the end if the command exited non-zero. Over SSH, raise
        CommandTimeout if nothing is printed for COMMAND_TIMEOUT_S."""
        ...

    def engine(self) -> APIClient:
        """Return the client of the host's Docker engine. The first call opens it; later calls return the same client.
        Raise HostUnfit if no engine answers."""
        ...

    def upload_engine(self, size: int, streams: int = 1) -> AbstractContextManager[APIClient]:
        """Return a context manager that yields a client of the host's engine for an upload of `size` bytes. `streams`
        is the number of hosts, including this one, that receive an upload of this size at the same time. Raise
        HostUnfit if no engine answers.

        Over SSH, a large upload goes through an `ssh` process, because it is faster than the open connection."""
        ...

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        """Connect from the host to a server at `address` and `port`, and return the server's first bytes, such as an
        SSH banner.

        Return empty bytes if no server answers or if it sends nothing. Return None if the check is impossible, because
        the host's sshd forbids forwarding. `timeout_s` is the limit of the connection attempt, and also of the wait for
        the bytes. No process is started on the host."""
        ...

    def pasteable(self, command: Command) -> str:
        """Return a shell line that runs the command on the host. Messages show it, so that a user can run the command
        by hand from the controller."""
        ...

    def close(self) -> None: ...


def run_or_raise(
    link: HostLink,
    command: Command,
    what: str,
    stdin: Iterable[bytes] | None = None,
    fix: str | None = None,
    timeout_s: float | None = COMMAND_TIMEOUT_S,
) -> CommandResult:
    """Run a command and return its result if it exits with 0. A non-zero exit raises an HvdockerError with the message
    `what` (such as `storing a layer failed`), the command, its last lines of output and the suggested `fix`.

    `stdin` are the bytes of its standard input; None means empty input. A command that takes longer than `timeout_s`
    raises CommandTimeout (None: no limit); with `stdin` there is no limit."""
    result = link.run(command, stdin, timeout_s)
    raise_if_failed(link, result, what, fix)
    return result


def raise_if_failed(link: HostLink, result: CommandResult, what: str, fix: str | None = None) -> None:
    """Raise an HvdockerError if a command exited non-zero; otherwise return. `result` is the result of the command, and
    `link` is the link on which it ran.

    The error has the message `what` (such as `storing a layer failed`), a line to run the command by hand, the last
    lines of its output and the suggested `fix`."""
    if result.code != 0:
        raise HvdockerError(
            f"{what} (exit {result.code})",
            host=link.name,
            command=_short(link.pasteable(result.command)),
            lines=result.tail(),
            fix=fix,
        )


def _short(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else text[:limit] + " …"


LinkOpener = Callable[[], HostLink]
