"""Sends large files of the code one by one, before the stream with the other files. Each large file is the whole input
of one command.

So an `ssh` process can read the file itself, which takes half the processor time of a stream that Python reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hvdocker.errors import HvdockerError
from hvdocker.shell.command import Command
from hvdocker.sync.codec import Codec
from hvdocker.sync.file_errors import CodeChanged, file_error
from hvdocker.sync.hash_cache import file_stat
from hvdocker.sync.tree import Entry, Tree
from hvdocker.transport.link import HostLink, input_from_file, run_or_raise
from hvdocker.transport.ssh.openssh.choice import MIN_TOTAL_BYTES


def split_large(tree: Tree, paths: tuple[str, ...], codec: Codec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the files `paths` of the tree into two groups and return both: first the large files, which are sent one by
    one, then all others.

    If the stream is compressed with `codec`, no file counts as large. A file without `Entry.stat` does not count as
    large either: it may have changed unnoticed since it was hashed, so its content has to be hashed again while it is
    sent."""

    def is_large(path: str) -> bool:
        entry = tree.entries[path]
        return codec is Codec.NONE and entry.size >= MIN_TOTAL_BYTES and entry.stat is not None

    return tuple(filter(is_large, paths)), tuple(path for path in paths if not is_large(path))


@dataclass(frozen=True)
class LargeFile:
    """A large local file to send. `root` is the code folder, and `entry` is the file's entry from when it was
    hashed."""

    root: Path
    entry: Entry

    def send(self, link: HostLink, receiver: Command, on_sent: Callable[[int], None], streams: int) -> None:
        """Send the file to the command `receiver` on the host of `link`. `on_sent` is called with the number of bytes
        sent so far. `streams` is the number of hosts, including this one, that receive the file at the same time.

        Raise CodeChanged if the file has changed since it was hashed, also if it changes while it is being sent."""
        self._raise_if_changed()
        content = input_from_file(self.root / self.entry.path, on_sent, self.entry.size, streams)
        try:
            run_or_raise(link, receiver, "writing the code failed", content)
        except HvdockerError:
            self._raise_if_changed()
            raise
        self._raise_if_changed()

    def _raise_if_changed(self) -> None:
        """Raise CodeChanged if the file's size, times or inode have changed since it was hashed. They show every
        change, because the change time of a file cannot be set back."""
        path = self.root / self.entry.path
        try:
            found = file_stat(path.stat())
        except OSError as error:
            raise file_error(error, str(path)) from error
        if found != self.entry.stat:
            raise CodeChanged(str(path))
