"""Sends streams to hosts. Hosts that lack the same files share one stream and receive it at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from hvdocker.errors import HostUnfit, HvdockerError
from hvdocker.shell.command import Command
from hvdocker.shell.host_folders import KEPT_LINE
from hvdocker.sync import commands
from hvdocker.sync.broadcast import Broadcast
from hvdocker.sync.codec import Codec
from hvdocker.sync.commands import Commit, SyncFolder
from hvdocker.sync.file_errors import CodeChanged
from hvdocker.sync.host_query import SyncTarget
from hvdocker.sync.large_files import LargeFile
from hvdocker.sync.pack import OnGrowth, Piece, StreamFiles, pack_stream
from hvdocker.sync.tree import Tree
from hvdocker.transport.link import LargeInput, run_or_raise
from hvdocker.transport.pool import HostOutcomes, for_each_host

# The most hosts in one batch. They all receive at the same time, and each host takes three threads.
_MOST_AT_ONCE = 64
# Messages of the kernel, GNU tar and busybox for a full disk.
_DISK_FULL = ("no space left", "disk quota exceeded", "wrote only", "short write")

# Is called with the host, the bytes done and the bytes in total. It may raise an error to end the transfer.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SendResult:
    """The result of sending one stream to one host. `wire_bytes` is the number of bytes that were sent, perhaps
    compressed. `took_s` is the time in seconds.

    `kept` is the number of files written by jobs that the host moved to the folder `SyncFolder.replaced`, because the
    sync was about to replace or remove them."""

    wire_bytes: int
    took_s: float
    kept: int = 0


@dataclass(frozen=True)
class StreamSender:
    """Sends the streams of one sync. `targets` has the hosts by name. `ids` has the id of the tree for each value of
    `SyncTarget.is_shared`. `bases` has, for each host name, the first line of the index from which the host's changes
    were computed.

    `token` identifies this sync, also in the names of its inboxes (the folders into which hosts unpack). `progress` is
    called with host, bytes done and bytes in total. `on_interrupt` is called at Ctrl-C, and `on_growth` with the path
    of a file that grew. `most_at_once` is the number of hosts that may receive at the same time."""

    targets: Mapping[str, SyncTarget]
    tree: Tree
    ids: Mapping[bool, str]
    bases: Mapping[str, str]
    token: str
    progress: Progress
    on_interrupt: Callable[[], None]
    on_growth: OnGrowth = lambda path: None
    most_at_once: int = _MOST_AT_ONCE

    def send(self, stream_files_by_host: Mapping[str, StreamFiles]) -> HostOutcomes[SendResult]:
        """Send each host its stream, in batches of hosts. Stop after a batch in which a host failed.

        `stream_files_by_host` has the stream of each host, by host name. Errors in local files are raised. Errors of
        hosts are in the result."""
        order = [name for names in _hosts_by_stream(stream_files_by_host).values() for name in names]
        done: dict[str, SendResult] = {}
        failed: dict[str, HvdockerError] = {}
        while order and not failed:
            batch, order = order[: self.most_at_once], order[self.most_at_once :]
            outcomes = self._send_batch({name: stream_files_by_host[name] for name in batch})
            done |= outcomes.done
            failed |= outcomes.failed
        return HostOutcomes(done, failed)

    def _send_batch(self, stream_files_by_host: Mapping[str, StreamFiles]) -> HostOutcomes[SendResult]:
        """Send to all hosts of one batch at the same time. `stream_files_by_host` has the stream of each of these
        hosts, by host name. Return the results and errors by host. Errors in local files are raised.

        The caller passes at most `most_at_once` hosts, so that each host has a thread from the start. A host that had
        to wait for a thread would block its stream, because a stream waits for the slowest of its hosts."""
        sharing = _hosts_by_stream(stream_files_by_host)
        streams = {
            stream_files: Broadcast(pack_stream(self.tree, stream_files, self.on_growth), names)
            for stream_files, names in sharing.items()
        }

        def work(name: str) -> SendResult:
            with streams[stream_files_by_host[name]].reading(name) as pieces:
                return self._deliver(name, stream_files_by_host[name], pieces, len(stream_files_by_host))

        try:
            for stream in streams.values():
                stream.start()
            outcomes = for_each_host(stream_files_by_host, work, False, self.on_interrupt, self.most_at_once)
        finally:
            for stream in streams.values():
                stream.close()
        for stream in streams.values():
            if stream.error:
                raise stream.error
        for error in outcomes.failed.values():
            if isinstance(error, CodeChanged):
                raise error
        return outcomes

    def _deliver(self, name: str, stream_files: StreamFiles, pieces: Iterator[Piece], hosts: int) -> SendResult:
        """Send the large files of `stream_files` to the host `name`, then the `pieces` of its stream, and return the
        result. `hosts` is the number of hosts, including this one, that receive at the same time."""
        target = self.targets[name]
        started = time.monotonic()
        large_file_bytes = self._send_large_files(target, stream_files, hosts)
        feed = _CountedStream(name, stream_files, self.tree, pieces, self.progress)
        with _clearer_errors(name):
            result = run_or_raise(
                target.link,
                self._receiver(target, stream_files),
                "writing the code failed",
                LargeInput(feed.chunks(), self._wire_bytes(stream_files), hosts),
                fix="if something that no sync put there is in the way, move it aside on the host",
            )
        return SendResult(large_file_bytes + feed.wire_bytes, time.monotonic() - started, _kept(result.text))

    def _send_large_files(self, target: SyncTarget, stream_files: StreamFiles, hosts: int) -> int:
        """Send the large files of `stream_files` one by one to the host `target`, and return their size in bytes.
        `hosts` is the number of hosts, including this one, that receive at the same time."""
        total, rest, sent = map(
            self.tree.bytes_of, (stream_files.changes.send, stream_files.paths, stream_files.large_files)
        )
        done = total - rest - sent
        sync_folder = SyncFolder(target.folder, self.token)
        for path in stream_files.large_files:
            entry = self.tree.entries[path]
            mode, mtime_s = entry.mode_for(target.is_shared), entry.mtime_ns // 1_000_000_000
            receiver = commands.receive_file(sync_folder, path, entry.size, mode, mtime_s)
            report = partial(self._report_sent, target.link.name, done, total)
            with _clearer_errors(target.link.name):
                LargeFile(self.tree.root, entry).send(target.link, receiver, report, hosts)
            done += entry.size
        return sent

    def _report_sent(self, name: str, before: int, total: int, sent: int) -> None:
        self.progress(name, before + sent, total)

    def _wire_bytes(self, stream_files: StreamFiles) -> int:
        """Return an estimate of the stream's size in bytes on the wire. A compressed stream is estimated at a third of
        its files, as for code and text."""
        size = self.tree.bytes_of(stream_files.paths) + stream_files.padding
        return size if stream_files.codec is Codec.NONE else size // 3

    def _receiver(self, target: SyncTarget, stream_files: StreamFiles) -> Command:
        """Return the command that receives the stream `stream_files` on the host `target`. If that is the last stream
        of a sync, the command also moves the files into place."""
        sync_folder = SyncFolder(target.folder, self.token)
        if not stream_files.is_last:
            return commands.receive(sync_folder, stream_files.codec, stream_files.is_first)
        base = self.bases[target.link.name]
        commit = Commit(self.ids[target.is_shared], base, stream_files.changes.drops_first)
        return commands.receive_and_commit(sync_folder, stream_files.codec, stream_files.is_first, commit)

    def remove_inboxes(self, names: Iterable[str]) -> None:
        """Remove the inboxes of this sync (folders with unpacked files) on the hosts `names`. An inbox that cannot be
        removed now is removed by a later sync, once it is a day old."""

        def work(name: str) -> None:
            target = self.targets[name]
            target.link.run(commands.remove_inbox(SyncFolder(target.folder, self.token)))

        for_each_host(names, work)


def _hosts_by_stream(stream_files_by_host: Mapping[str, StreamFiles]) -> dict[StreamFiles, list[str]]:
    """Return the names of the hosts that receive each stream. `stream_files_by_host` has the stream of each host, by
    host name."""
    found: dict[StreamFiles, list[str]] = {}
    for name, stream_files in stream_files_by_host.items():
        found.setdefault(stream_files, []).append(name)
    return found


@dataclass
class _CountedStream:
    """The bytes of a stream for the host `name`, with their count. `stream_files` says what the stream contains, and
    `pieces` are its pieces.

    `chunks` yields the bytes. Meanwhile it counts them in `wire_bytes`, and calls `progress` with host, bytes done and
    bytes in total."""

    name: str
    stream_files: StreamFiles
    tree: Tree
    pieces: Iterator[Piece]
    progress: Progress
    wire_bytes: int = field(default=0, init=False)

    def chunks(self) -> Iterator[bytes]:
        total, own = map(self.tree.bytes_of, (self.stream_files.changes.send, self.stream_files.paths))
        before = 0 if self.stream_files.is_first else total - own
        for piece in self.pieces:
            self.wire_bytes += len(piece.data)
            self.progress(self.name, before + min(own, piece.done), total)
            yield piece.data


def _kept(output: str) -> int:
    told = [line.split() for line in output.splitlines() if line.startswith(f"{KEPT_LINE} ")]
    return sum(int(words[1]) for words in told if len(words) == 2 and words[1].isdecimal())


@contextmanager
def _clearer_errors(name: str) -> Iterator[None]:
    """Replace an HvdockerError of the code in the `with` block by the result of `_clearer_error`. The code sends to the
    host `name`."""
    try:
        yield
    except HvdockerError as error:
        raise _clearer_error(error, name) from error.__cause__


def _clearer_error(error: HvdockerError, name: str) -> HvdockerError:
    """Return a clearer error for the host `name` if its disk is full, or if another sync wrote other code at the same
    time. Return `error` itself in all other cases."""
    if commands.OTHER_CODE in error.lines:
        fix = "run the same command again; two people who train different code need two clusters"
        return HvdockerError(commands.OTHER_CODE, host=name, fix=fix)
    if not any(word in line.lower() for line in error.lines for word in _DISK_FULL):
        return error
    return HostUnfit(
        "the disk is full: the code does not fit; no half-written file was put in place",
        host=name,
        command=error.command,
        lines=error.lines,
        fix="free some space there, or keep data out of the code with .hvdockerignore and `mounts:`",
    )
