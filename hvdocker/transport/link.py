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
    """The standard input of a command if it may be large: `chunks`, about `size` bytes in all. `streams` hosts (with
    this one) receive such an input at the same time.

    An SSH link sends a large input through a process `ssh`, which is faster than the open connection. If the input is
    exactly the file `path`, that process may read it itself. The link then calls `on_sent` with the bytes sent so far,
    and does not read `chunks`. If `on_sent` raises an error, the transfer ends with it."""

    chunks: Iterable[bytes]
    size: int
    streams: int = 1
    path: Path | None = None
    on_sent: Callable[[int], None] = lambda done: None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.chunks)


def read_file(path: Path, on_sent: Callable[[int], None], size: int, streams: int = 1) -> LargeInput:
    """Return the file `path`, of `size` bytes, as the input of a command. `on_sent` is called with the bytes sent so
    far. `streams` hosts receive it at the same time."""

    def chunks() -> Iterator[bytes]:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
                on_sent(file.tell())

    return LargeInput(chunks(), size, streams, path, on_sent)


class HostLink(Protocol):
    """One open connection to one host. Commands, streams and requests to the engine all use this connection, and
    all end when it is closed. `name` is the host's name in the inventory."""

    name: str

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        """Run a command to its end and return its result. A non-zero exit is a normal result. A lost connection raises
        HostUnreachable, a command that takes longer than `timeout_s` raises CommandTimeout (None: no limit). Over SSH
        the limit counts from the last piece of standard output.

        `stdin` are the bytes of its standard input; None means empty input. With `stdin` there is no time limit,
        because sending a large input may take any time."""
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
        """Return a context manager with a client of the host's engine for an upload of `size` bytes, which `streams`
        hosts (with this one) receive at the same time. Over SSH, a large upload goes through a process `ssh`, which is
        faster than the open connection. Raise HostUnfit if no engine answers."""
        ...

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        """Connect from the host to a server at `address` and `port`, and return the server's first bytes, such as
        an SSH banner.

        Return empty bytes if no server answers or it sends nothing; `timeout_s` limits the connection, and again the
        wait for the bytes. Return None if the check is impossible, because the host's sshd forbids forwarding. No
        process is started on the host."""
        ...

    def pasteable(self, command: Command) -> str:
        """Return the shell line with which a user would run that command by hand from the controller, for messages."""
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
    """Raise an HvdockerError if the command of `result` exited non-zero; otherwise return. The error has the message
    `what` (such as `storing a layer failed`), the command as a line to run by hand (`link` is that of its host), its
    last lines of output and the suggested `fix`."""
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
