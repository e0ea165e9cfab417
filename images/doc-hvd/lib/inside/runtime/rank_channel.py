"""The socket over which a rank wrapper sends its output to the agent of its host (the program of the spawner there). It
is used if another program, such as torchrun or mpirun, started the rank wrapper, because that program would mix the
lines of its ranks. A rank has two connections (channels) to the socket, for stdout and stderr. A hang-up of a channel
shows that the agent is gone."""

import json
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hvdocker.protocol import variables

MAX_HEADER_BYTES = 4096
# mpirun and the agents log in to a host at the same time, so a rank may be there before the agent listens.
LISTEN_WAIT_S = 5.0
POLL_S = 0.05


class ChannelHeader(NamedTuple):
    """The first line that a rank wrapper sends on a channel. `is_error` says that the channel is for stderr, not
    stdout. `pid` is the process id of the rank wrapper. `nodes` is the number of hosts that took part when this rank
    was started (0: unknown)."""

    rank: int
    is_error: bool
    pid: int
    nodes: int

    def encode(self) -> bytes:
        return json.dumps(self._asdict()).encode() + b"\n"


def parse_header(data: bytes) -> tuple[ChannelHeader, bytes] | None:
    """Parse the header of a channel, and return it with the bytes that follow it. `data` is the first piece that was
    received on the channel. Return None if it does not begin with a whole header."""
    line, _, rest = data.partition(b"\n")
    try:
        return ChannelHeader(**json.loads(line)), rest
    except (ValueError, TypeError):
        return None


def socket_folder(run: Path) -> Path:
    """Return the folder with the sockets of agents. `run` is the folder /run/hvdocker."""
    return run / "agents"


def listen(path: Path) -> socket.socket:
    """Return a socket that listens at `path`. A file that exists there is replaced. Raises OSError if that fails."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with open_folder(path) as short:
        listener.bind(short)
    listener.listen(256)
    return listener


def connect(path: Path, header: ChannelHeader, wait_s: float = LISTEN_WAIT_S) -> socket.socket:
    """Connect to the agent that listens at `path`, send it the header, and return the connection. Raises OSError if the
    agent does not listen within `wait_s`."""
    deadline = time.monotonic() + wait_s
    while True:
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with open_folder(path) as short:
                channel.connect(short)
            channel.sendall(header.encode())
            return channel
        except OSError as error:
            channel.close()
            is_early = isinstance(error, (FileNotFoundError, ConnectionRefusedError))
            if not is_early or time.monotonic() >= deadline:
                raise
        time.sleep(POLL_S)


def replace_output(env: Mapping[str, str], rank: int) -> None:
    """Replace stdout and stderr of this process by channels to the agent, if the environment (`env`) names the agent's
    socket. Otherwise do nothing. Raises OSError if the agent cannot be reached."""
    name = env.get(variables.OUTPUT_SOCKET)
    if not name:
        return
    nodes = int(env.get("GROUP_WORLD_SIZE", "0"))
    for is_error, fd in ((False, 1), (True, 2)):
        with connect(Path(name), ChannelHeader(rank, is_error, os.getpid(), nodes)) as channel:
            os.dup2(channel.fileno(), fd)


class open_folder:  # noqa: N801  # used as a function
    """A context manager that returns a short path for the Unix socket at `path`. It is needed because the kernel
    accepts at most 107 bytes for the path of a socket. The short path is valid within the context."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> str:
        self._fd = os.open(self._path.parent, os.O_PATH | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._fd}/{self._path.name}"

    def __exit__(self, *_error: object) -> None:
        os.close(self._fd)
