"""The cache of image layers on the controller, by digest: unchanged layers are not read again."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shlex
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.units import forgotten_unit, parse_bytes

DEFAULT_LIMIT_BYTES = 20 << 30
_CHUNK = 1 << 20
# Reading an image takes less than a day, so the process that wrote an older draft (temporary file) has ended.
_DRAFT_STALE_S = 86_400
LIMIT_VARIABLE = "HVDOCKER_CACHE"


@dataclass(frozen=True)
class LayerCache:
    """A cache of image layers and image configurations in the folder `root`. The name of each file is the digest of its
    content.

    An exception are small files whose name is an image id. Such a file contains the digest of that image's
    configuration, so that export.py finds the configuration by the image id.

    A file is written as a draft (a temporary file) and then renamed, so a file without `draft-` in its name is
    complete. `trim` brings the folder within `limit_bytes`."""

    root: Path
    limit_bytes: int = DEFAULT_LIMIT_BYTES

    def path(self, digest: str) -> Path:
        return self.root / digest.replace(":", "-")

    def size(self, digest: str) -> int | None:
        """Return the size in bytes of the file with this digest, or None if the cache lacks it.

        The method also marks the file as just used, so that `trim` removes other files first."""
        path = self.path(digest)
        try:
            os.utime(path)
            return path.stat().st_size
        except FileNotFoundError:
            return None

    def read(self, digest: str) -> bytes | None:
        """Return the bytes of the file with this digest, or None if the cache lacks it."""
        return None if self.size(digest) is None else self.path(digest).read_bytes()

    @contextmanager
    def draft(self) -> Iterator[IO[bytes]]:
        """Yield a temporary file in the cache for a new layer. Call `keep` in the `with` block to store it under its
        digest; otherwise it is deleted at the end. Raise HvdockerError if the disk is full."""
        with self._naming_a_full_disk():
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(prefix="draft-", dir=self.root, delete=False) as file:
                try:
                    yield file
                finally:
                    Path(file.name).unlink(missing_ok=True)

    @contextmanager
    def _naming_a_full_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise HvdockerError(
                f"the disk of this machine is full: image layers are read into {self.root}",
                command=shlex.join(("df", "-h", str(self.root))),
                lines=[str(error)],
                fix="free some space there; the layers in it may be removed, or set XDG_CACHE_HOME to another disk",
            ) from error

    def drop_if_damaged(self, digest: str) -> bool:
        """Remove the file with the name `digest` if its content does not have this digest. Return whether the file was
        removed; if there is no such file, return False.

        The whole file is read, which is slow. So this is called only after a load has failed."""
        path = self.path(digest)
        try:
            with path.open("rb") as file:
                found = hashlib.sha256()
                while chunk := file.read(_CHUNK):
                    found.update(chunk)
        except FileNotFoundError:
            return False
        if f"sha256:{found.hexdigest()}" == digest:
            return False
        path.unlink(missing_ok=True)
        return True

    def keep(self, draft: IO[bytes], digest: str) -> None:
        """Store the draft (a file from `draft`) in the cache under the name `digest`. The content is not checked
        here."""
        draft.flush()
        Path(draft.name).replace(self.path(digest))

    def trim(self, spare: Collection[str] = ()) -> None:
        """Remove files, the least recently used first, until the cache is within its limit.

        Files with digests in `spare` stay, even if they alone exceed the limit. Drafts (temporary files) that killed
        hvdocker processes left more than a day ago are removed too."""
        if not self.root.is_dir():
            return
        for draft in self.root.glob("draft-*"):
            with contextlib.suppress(FileNotFoundError):  # another run has just kept it
                if draft.stat().st_mtime < time.time() - _DRAFT_STALE_S:
                    draft.unlink()
        spared = {self.path(digest) for digest in spare}
        seen = list(self._layer_files())
        total = sum(status.st_size for _, status in seen)
        for path, status in sorted(seen, key=lambda entry: entry[1].st_mtime_ns):
            if total <= self.limit_bytes:
                return
            if path not in spared:
                path.unlink(missing_ok=True)
                total -= status.st_size

    def _layer_files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.root.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another run trims at the same time
                if path.name.startswith("sha256-"):
                    yield path, path.stat()


def user_layer_cache() -> LayerCache:
    """Return the user's cache: `hvdocker/layers` in `$XDG_CACHE_HOME`, by default in `~/.cache`.

    The variable `HVDOCKER_CACHE` sets its size limit (default 20GB)."""
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    text = os.environ.get(LIMIT_VARIABLE)
    limit = parse_bytes(text) if text else DEFAULT_LIMIT_BYTES
    if text and (problem := forgotten_unit(text, "20GB")):
        raise UsageProblem(f"{LIMIT_VARIABLE}: {problem}")
    if limit is None:
        raise UsageProblem(f"{LIMIT_VARIABLE} should be a size such as 20GB, got {text!r}")
    return LayerCache(Path(folder) / "hvdocker" / "layers", limit)
