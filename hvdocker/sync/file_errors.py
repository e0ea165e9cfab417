"""The errors of a sync that come from local files. Pure."""

from __future__ import annotations

from hvdocker.errors import HvdockerError, UsageProblem


class CodeChanged(UsageProblem):
    """A local file vanished, shrank or was rewritten between the reading of the code folder and the end of the sync.
    The caller may read the code folder again and repeat the sync. `path` is the full path of the file."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} changed while it was being synced",
            fix="run it again when nothing writes there, or name the file in .hvdockerignore",
        )
        self.path = path


def file_error(error: OSError, path: str) -> HvdockerError:
    """Return the error for a file that was listed, but could then not be opened or read. `path` is the full path of the
    file.

    If the file is gone, the error is CodeChanged, so that the caller may read the folder again. Otherwise it is
    UsageProblem."""
    return CodeChanged(path) if isinstance(error, FileNotFoundError) else unreadable_error(error, path)


def unreadable_error(error: OSError, path: str) -> UsageProblem:
    """Return the error for a local file or folder that cannot be read. The message names the path in `error`, or `path`
    if `error` has none."""
    return UsageProblem(
        f"cannot read {error.filename or path}: {error.strerror}", fix="make it readable, or name it in .hvdockerignore"
    )
