"""The interface to a host: commands, streams and the Docker engine over one connection. Opens nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hvdocker.errors import HvdockerError
from hvdocker.shell.command import Command

if TYPE_CHECKING:
    from docker import APIClient

COMMAND_TIMEOUT_S = 120.0


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
        """Return the last lines of standard error, or of standard output if standard error is empty."""
        spoken = self.err.strip() or self.out.strip()
        return spoken.decode("utf-8", "replace").splitlines()[-count:]


class HostLink(Protocol):
    """One open connection to one host. Everything runs over it, and closing it ends everything."""

    name: str

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        """Run a command to its end. A non-zero exit is a normal result; a lost host raises an error.

        The time limit does not apply with `stdin`: sending may take any time."""
        ...

    def stream(self, command: Command) -> Iterator[bytes]:
        """Yield standard output as it arrives; raise an error at the end if the command failed."""
        ...

    def engine(self) -> APIClient:
        """Return the client of the host's Docker engine; the first call opens it."""
        ...

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        """Connect from the host to a server and return the first bytes that it sends (an SSH banner).

        Empty if no server answers, None if this link cannot find out. It starts no process on the host."""
        ...

    def pasteable(self, command: Command) -> str:
        """Return the shell line with which a user would run that command by hand."""
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
    """Run a command; a non-zero exit raises an error with the command and its last lines of output."""
    result = link.run(command, stdin, timeout_s)
    raise_if_failed(link, result, what, fix)
    return result


def raise_if_failed(link: HostLink, result: CommandResult, what: str, fix: str | None = None) -> None:
    """Raise an error with the command and its last lines of output if it exited non-zero."""
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
