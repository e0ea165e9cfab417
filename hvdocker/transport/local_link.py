"""The link to the controller itself, for a local cluster (all workers on the controller) and for steps that run on the
controller."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from docker import APIClient

from hvdocker.errors import CommandTimeout, HvdockerError
from hvdocker.shell.command import Command
from hvdocker.transport.link import COMMAND_TIMEOUT_S, CommandResult
from hvdocker.transport.local_engine import open_local_engine


class LocalLink:
    """A HostLink to the controller itself: its commands are subprocesses, and its engine is the controller's own.
    `name` is the name that messages show, for example the name of a host of a local cluster."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._engine: APIClient | None = None

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        spool = _spool_stdin(stdin)
        try:
            done = subprocess.run(
                command.argv,
                stdin=spool or subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s if stdin is None else None,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CommandTimeout(
                f"a command took longer than {timeout_s:.0f} s", host=self.name, command=command.line()
            ) from error
        finally:
            if spool:
                spool.close()
        return CommandResult(command, done.returncode, done.stdout, done.stderr)

    def stream(self, command: Command, stdin: Iterable[bytes] | None = None) -> Iterator[bytes]:
        spool = _spool_stdin(stdin)
        source = spool or subprocess.DEVNULL
        with subprocess.Popen(command.argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            if spool:
                spool.close()
            assert process.stdout is not None and process.stderr is not None
            errors: list[bytes] = []
            stderr = process.stderr
            reader = threading.Thread(target=lambda: errors.append(stderr.read()), daemon=True)
            reader.start()
            while chunk := process.stdout.read1(1 << 18):  # type: ignore[attr-defined]  # a BufferedReader
                yield chunk
            reader.join()
        if process.returncode != 0:
            lines = b"".join(errors).decode("utf-8", "replace").splitlines()[-10:]
            raise HvdockerError(
                f"a command failed (exit {process.returncode})", host=self.name, command=command.line(), lines=lines
            )

    def engine(self) -> APIClient:
        if self._engine is None:
            self._engine = open_local_engine()
        return self._engine

    @contextmanager
    def upload_engine(self, size: int, streams: int = 1) -> Iterator[APIClient]:
        yield self.engine()

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        try:
            with socket.create_connection((address, port), timeout_s) as link:
                link.settimeout(timeout_s)
                return link.recv(64)
        except OSError:
            return b""

    def pasteable(self, command: Command) -> str:
        return command.line()

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()


def _spool_stdin(stdin: Iterable[bytes] | None) -> IO[bytes] | None:
    """Copy the standard input for a command into a temporary file and return the open file, or None if `stdin` is
    None. A file is used because the input, a data set for example, may not fit into memory."""
    if stdin is None:
        return None
    spool = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
    for chunk in stdin:
        spool.write(chunk)
    spool.seek(0)
    return spool
