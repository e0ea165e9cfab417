"""Fakes for hosts: links that record commands, and an engine that keeps archives in memory."""

import io
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from docker.errors import NotFound

from hvdocker.shell.command import Command
from hvdocker.transport.link import CommandResult
from hvdocker.transport.local_link import LocalLink

Answer = Callable[[Command, bytes], tuple[int, bytes, bytes]]


def always_succeed(command: Command, stdin: bytes) -> tuple[int, bytes, bytes]:
    """The default answer of FakeLink: exit code 0 and no output."""
    return 0, b"", b""


@dataclass
class FakeLink:
    """A link that runs nothing: `answer` gives the result of every command, `ran` records commands and
    stdin."""

    name: str = "a"
    answer: Answer = always_succeed
    streamed: bytes = b""
    ran: list[tuple[Command, bytes]] = field(default_factory=list)

    def run(self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float = 1.0) -> CommandResult:
        data = b"".join(stdin or ())
        self.ran.append((command, data))
        return CommandResult(command, *self.answer(command, data))

    def stream(self, command: Command, stdin: Iterable[bytes] | None = None) -> Iterator[bytes]:
        """Yield `streamed` in small pieces, like a network."""
        self.ran.append((command, b"".join(stdin or ())))
        for start in range(0, len(self.streamed), 1000):
            yield self.streamed[start : start + 1000]

    def engine(self) -> "FakeEngine":
        raise AssertionError("this test needs no engine")

    @contextmanager
    def upload_engine(self, size: int, streams: int = 1) -> "Iterator[FakeEngine]":
        yield self.engine()

    def pasteable(self, command: Command) -> str:
        return f"ssh {self.name} {command.line()}"

    def close(self) -> None:
        self.ran.clear()


@dataclass(frozen=True)
class RoundTrip:
    """One round trip: the command, and how many bytes were sent and received."""

    command: Command
    sent_bytes: int
    received_bytes: int


class RecordingLink(LocalLink):
    """A link to this machine as a host that records every round trip.

    `cut_after_bytes` truncates the standard input of commands, like a lost link."""

    def __init__(self, name: str = "a") -> None:
        super().__init__(name)
        self.round_trips: list[RoundTrip] = []
        self.cut_after_bytes: int | None = None

    @property
    def deliveries(self) -> int:
        return sum(any("-xpf" in word for word in trip.command.argv) for trip in self.round_trips)

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 60.0
    ) -> CommandResult:
        data = b"".join(stdin or ())
        result = super().run(command, [data[: self.cut_after_bytes]], timeout_s)
        self.round_trips.append(RoundTrip(command, len(data), len(result.out)))
        return result


@dataclass
class FakeEngine:
    """A fake engine: `files` are the files of every container, `put` records the archives that were
    uploaded."""

    files: dict[str, bytes] = field(default_factory=dict)
    put: list[tuple[str, str, bytes]] = field(default_factory=list)

    def put_archive(self, container: str, path: str, data: bytes) -> bool:
        self.put.append((container, path, data))
        return True

    def get_archive(self, container: str, path: str) -> tuple[Iterator[bytes], dict[str, object]]:
        if path not in self.files:
            raise NotFound(f"no {path}")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            info = tarfile.TarInfo(path.rsplit("/", 1)[1])
            info.size = len(self.files[path])
            tar.addfile(info, io.BytesIO(self.files[path]))
        data = buffer.getvalue()
        return iter([data[:700], data[700:]]), {}
