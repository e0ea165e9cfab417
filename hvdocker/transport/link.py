"""The seam to a host: commands, streams and the engine, over one connection."""

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
class Result:
    command: Command
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape")

    def tail(self, count: int = 10) -> list[str]:
        """The last lines of what it said, errors first choice."""
        spoken = self.err.strip() or self.out.strip()
        return spoken.decode("utf-8", "replace").splitlines()[-count:]


class HostLink(Protocol):
    """One open connection to one host. Everything rides on it; closing it ends everything."""

    name: str

    def run(
        self,
        command: Command,
        stdin: Iterable[bytes] | None = None,
        timeout_s: float | None = COMMAND_TIMEOUT_S,
    ) -> Result:
        """Runs to the end; a non-zero exit is a Result, a lost host is an error. What is fed may take as
        long as it takes: there the time limit does not count."""
        ...

    def stream(self, command: Command) -> Iterator[bytes]:
        """Standard output as it comes; raises when the command fails."""
        ...

    def engine(self) -> APIClient:
        """The Docker engine's API on this connection."""
        ...

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        """What a server says to the host before it is asked anything; empty where none answers, None where
        this link cannot find out."""
        ...

    def pasteable(self, command: Command) -> str:
        """How a person would run that command by hand."""
        ...

    def close(self) -> None: ...


def run_or_raise(
    link: HostLink,
    command: Command,
    what: str,
    stdin: Iterable[bytes] | None = None,
    fix: str | None = None,
    timeout_s: float | None = COMMAND_TIMEOUT_S,
) -> Result:
    """Runs, and turns a non-zero exit into an error that shows the command and its last words."""
    result = link.run(command, stdin, timeout_s)
    raise_if_failed(link, result, what, fix)
    return result


def raise_if_failed(link: HostLink, result: Result, what: str, fix: str | None = None) -> None:
    """Raises where the command failed."""
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


Opener = Callable[[], HostLink]
