"""Layers of images, kept by digest on the controller, so that the next change need not read them again."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hvdocker.errors import UsageProblem
from hvdocker.units import parse_bytes

DEFAULT_LIMIT = 20 << 30
# No image takes a day to read: whoever wrote such a draft is gone.
_STALE_S = 86_400
LIMIT_VARIABLE = "HVDOCKER_CACHE"


@dataclass(frozen=True)
class LayerCache:
    """Files are named by their digest and appear whole or not at all. The least lately used go first."""

    root: Path
    limit_bytes: int = DEFAULT_LIMIT

    def path(self, digest: str) -> Path:
        return self.root / digest.replace(":", "-")

    def size(self, digest: str) -> int | None:
        """None where it is not here; asking counts as use."""
        path = self.path(digest)
        try:
            os.utime(path)
            return path.stat().st_size
        except FileNotFoundError:
            return None

    def read(self, digest: str) -> bytes | None:
        return None if self.size(digest) is None else self.path(digest).read_bytes()

    @contextmanager
    def draft(self) -> Iterator[IO[bytes]]:
        """A file that `keep` gives its name; gone at the end where it was not kept."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix="draft-", dir=self.root, delete=False) as file:
            try:
                yield file
            finally:
                Path(file.name).unlink(missing_ok=True)

    def keep(self, draft: IO[bytes], digest: str) -> None:
        draft.flush()
        Path(draft.name).replace(self.path(digest))

    def trim(self, spare: Collection[str] = ()) -> None:
        """Down to its limit, oldest use first; what is spared may be more than that. Drafts of runs that were
        killed go as well."""
        if not self.root.is_dir():
            return
        for draft in self.root.glob("draft-*"):
            with contextlib.suppress(FileNotFoundError):  # somebody's who has just kept it
                if draft.stat().st_mtime < time.time() - _STALE_S:
                    draft.unlink()
        spared = {self.path(digest) for digest in spare}
        seen = list(self._kept())
        total = sum(status.st_size for _, status in seen)
        for path, status in sorted(seen, key=lambda entry: entry[1].st_mtime_ns):
            if total <= self.limit_bytes:
                return
            if path not in spared:
                path.unlink(missing_ok=True)
                total -= status.st_size

    def _kept(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self.root.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another run trims at the same time
                if path.name.startswith("sha256-"):
                    yield path, path.stat()


def own_cache() -> LayerCache:
    """Below the user's cache folder; `HVDOCKER_CACHE` bounds it (20GB)."""
    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    text = os.environ.get(LIMIT_VARIABLE)
    limit = parse_bytes(text) if text else DEFAULT_LIMIT
    if limit is None:
        raise UsageProblem(f"{LIMIT_VARIABLE} should be a size such as 20GB, got {text!r}")
    return LayerCache(Path(folder) / "hvdocker" / "layers", limit)
