"""Large files are sent one by one, each as the whole input of a command, before the stream with the other files.

So a process `ssh` can read such a file itself, which takes half the processor time of a stream that Python reads."""

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
from hvdocker.transport.link import HostLink, read_file, run_or_raise
from hvdocker.transport.ssh.openssh.choice import MIN_TOTAL_BYTES


def split_large(tree: Tree, paths: tuple[str, ...], codec: Codec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return those of the files `paths` that are sent one by one, and the others. None are if the stream is compressed
    with `codec`. A file that could have changed since it was hashed, unnoticed, is not: it has to be hashed again."""

    def is_apart(path: str) -> bool:
        entry = tree.entries[path]
        return codec is Codec.NONE and entry.size >= MIN_TOTAL_BYTES and entry.stat is not None

    return tuple(filter(is_apart, paths)), tuple(path for path in paths if not is_apart(path))


@dataclass(frozen=True)
class LargeFile:
    """A local file of the code folder `root`, with what was recorded when it was hashed."""

    root: Path
    entry: Entry

    def send(self, link: HostLink, receiver: Command, on_sent: Callable[[int], None], streams: int) -> None:
        """Send the file to the command `receiver` on the host of `link`, while `streams` hosts (with this one) receive.
        `on_sent` is called with the bytes sent so far.

        Raise CodeChanged if the file is not what was hashed, or changed while it was being sent."""
        self._raise_if_changed()
        content = read_file(self.root / self.entry.path, on_sent, self.entry.size, streams)
        try:
            run_or_raise(link, receiver, "writing the code failed", content)
        except HvdockerError:
            self._raise_if_changed()
            raise
        self._raise_if_changed()

    def _raise_if_changed(self) -> None:
        """Raise CodeChanged if size, times or inode have changed. The change time of a file cannot be set back."""
        path = self.root / self.entry.path
        try:
            found = file_stat(path.stat())
        except OSError as error:
            raise file_error(error, str(path)) from error
        if found != self.entry.stat:
            raise CodeChanged(str(path))
