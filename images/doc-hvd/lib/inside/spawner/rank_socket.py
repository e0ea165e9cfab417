"""The agent's socket for the output of ranks that another program (torchrun, mpirun) starts on this host."""

import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from inside.runtime.loop import Loop
from inside.runtime.rank_channel import MAX_HEADER_BYTES, ChannelHeader, listen, parse_header
from inside.spawner.agent_child import headers
from inside.spawner.line_collector import LineCollector
from inside.spawner.streams import Inlet, Outlet


class RankSocket:
    """Accepts the connections of rank wrappers (channels) on a socket at `path`, and passes their lines to the outlets
    (for stdout and stderr), with headers. Raises OSError if it cannot listen at `path`."""

    def __init__(self, loop: Loop, path: Path, outlets: tuple[Outlet, Outlet]) -> None:
        self._loop = loop
        self.path = path
        # Whether a rank was ever connected.
        self.had_ranks = False
        self._outlets = outlets
        self._listener = listen(path)
        self._inode = path.stat().st_ino
        self._channels: dict[int, RankChannel] = {}
        self._listener.setblocking(False)
        loop.watch(self._listener.fileno(), self._accept)

    @property
    def is_quiet(self) -> bool:
        """Whether no rank is connected."""
        return not any(channel.is_open for channel in self._channels.values())

    def end_ranks(self, most_nodes: int) -> None:
        """Send SIGTERM to the rank wrappers that were started when more than `most_nodes` hosts took part. With -1 all
        rank wrappers get it."""
        wrappers = {
            channel.header.pid for channel in self._channels.values() if channel.started_with_more_than(most_nodes)
        }
        for pid in wrappers:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)

    def close(self) -> None:
        """Close the socket and all channels. Ranks that still run notice by this that the agent is gone."""
        self._loop.unwatch(self._listener.fileno())
        self._listener.close()
        for channel in self._channels.values():
            channel.close()
        with suppress(OSError):
            # A newer agent of the same job may listen there now.
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()

    def _accept(self) -> None:
        with suppress(OSError):
            connection, _address = self._listener.accept()
            self.had_ranks = True
            self._channels = {fd: channel for fd, channel in self._channels.items() if channel.is_open}
            self._channels[connection.fileno()] = RankChannel(self._loop, connection, self._outlets)


class RankChannel:
    """One channel: a connection with the stdout or the stderr of one rank. `header` says which rank and stream. Its
    `pid` is 0 until the header has arrived."""

    def __init__(self, loop: Loop, connection: socket.socket, outlets: tuple[Outlet, Outlet]) -> None:
        self.is_open = True
        self.header = ChannelHeader(0, False, 0, 0)
        self._loop = loop
        self._connection = connection
        self._outlets = outlets
        self._inlet: Inlet | None = None
        connection.setblocking(False)
        loop.watch(connection.fileno(), self._begin)

    def started_with_more_than(self, most_nodes: int) -> bool:
        """Return whether this channel is open and its rank was started when more than `most_nodes` hosts took part.
        Such a rank has to end."""
        return self.is_open and self.header.pid > 0 and self.header.nodes > most_nodes

    def close(self) -> None:
        if self._inlet is not None:
            self._inlet.close()
        elif self.is_open:
            self._loop.unwatch(self._connection.fileno())
            self._end()

    def _begin(self) -> None:
        """Read the channel's header, which names the rank and the stream, and pass on the lines that follow. One read
        gets the whole header: the rank wrapper sends it in one short write, which a Unix socket does not split."""
        try:
            found = parse_header(self._connection.recv(MAX_HEADER_BYTES))
        except BlockingIOError:
            return
        except OSError:
            found = None
        if found is None:
            self.close()
            return
        self.header, rest = found
        lines = LineCollector(headers(self.header.rank)[self.header.is_error])
        outlet = self._outlets[self.header.is_error]

        def end() -> None:
            outlet.put(lines.close())
            self._end()

        self._inlet = Inlet(
            self._loop, self._connection.fileno(), lambda data: outlet.put(lines.feed(data)), outlet, end
        )
        outlet.put(lines.feed(rest))

    def _end(self) -> None:
        self.is_open = False
        self._connection.close()
