"""Read and check the values of `--secret` on the controller, before any host is contacted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hvdocker.errors import UsageProblem
from hvdocker.inventory.locate import at_home
from hvdocker.secret import Secret, SecretSource

MOST_BYTES = 1_000_000
# The rank wrapper does not mask shorter values: such words occur in any output.
LEAST_BYTES = 4


def read_secret(cwd: Path, source: SecretSource, environ: Mapping[str, str]) -> Secret[bytes]:
    """Return the value of a secret: from the file `source.path` (relative to `cwd`), or from the variable `source.name`
    in `environ` if the source names no file.

    Raises UsageProblem if the value is missing, empty, too short to be masked in outputs, or larger than 1 MB."""
    value = _from_file(cwd, source) if source.path is not None else _from_caller(source.name, environ)
    if not value.strip():
        raise UsageProblem(f"--secret {source.name}: the value is empty")
    if max(len(line.strip()) for line in value.splitlines()) < LEAST_BYTES:
        raise UsageProblem(
            f"--secret {source.name}: the value is too short to be masked in outputs",
            fix=f"a secret has a line of at least {LEAST_BYTES} bytes",
        )
    if len(value) > MOST_BYTES:
        raise UsageProblem(
            f"--secret {source.name}: the value is larger than 1 MB", fix="what is large goes onto a mount"
        )
    return Secret(value)


def with_absolute_path(cwd: Path, source: SecretSource) -> SecretSource:
    """Return the source with an absolute path; a relative path starts at `cwd`. A source without a path is returned
    unchanged."""
    return SecretSource(source.name, str(_path(cwd, source.path)) if source.path is not None else None)


def _from_caller(name: str, environ: Mapping[str, str]) -> bytes:
    if name not in environ:
        raise UsageProblem(
            f"--secret {name}: there is no such variable here", fix=f"export it, or name a file: --secret {name}=@FILE"
        )
    return os.fsencode(environ[name])


def _from_file(cwd: Path, source: SecretSource) -> bytes:
    """Return the content of the source's file (its path is relative to `cwd`), which may be a pipe, as in --secret
    NAME=@<(pass show token). At most one byte more than the limit is read. Raises UsageProblem if the file cannot be
    read."""
    path = _path(cwd, source.path or "")
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageProblem(f"--secret {source.name}: {path} cannot be read: {error.strerror}") from error


def _path(cwd: Path, path: str) -> Path:
    return cwd / at_home(Path(path))
