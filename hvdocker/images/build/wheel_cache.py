"""The cache of wheels on the controller. Image builds there take wheels from it, and do not download them again.

The controller's own pip downloads the wheels, so pip's configuration applies: indexes, local folders (PIP_FIND_LINKS),
proxies and certificates."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hvdocker.errors import HvdockerError
from hvdocker.images.build.wheel_names import PYTHON_VERSION, Pin, platforms, wheels_of
from hvdocker.plan.plan import CONTROLLER

Say = Callable[[str], None]
_UNUSED_S = 90 * 86_400
_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class WheelCache:
    """A cache of wheels in the folder `root`. `architecture` is that of the engine that builds, such as `amd64`.

    `pip` has the words of the command that starts the controller's pip; it is empty if the controller has none.
    `environ` are the environment variables of the controller."""

    root: Path
    architecture: str
    pip: tuple[str, ...]
    environ: Mapping[str, str]

    def find(self, pins: Sequence[Pin]) -> dict[str, Pin]:
        """Return the file names of the wheels in the cache that fit the pins. Each name is mapped to its pin."""
        names = sorted(path.name for path in self.root.glob("*.whl"))
        return wheels_of(pins, names, self.architecture)

    def fetch(self, pins: Sequence[Pin], say: Say, index: str | None = None) -> dict[str, Pin]:
        """Download the wheels that the cache lacks, and return those that it then has, as `find` does.

        `index` is a package index to download from instead of those that pip is configured for. A wheel that cannot be
        downloaded is left out. Before a download, wheels that were not used for 90 days are removed. `say` receives
        pip's output line by line. Raise HvdockerError if the folder cannot be written or its disk is full."""
        missing = [pin for pin in pins if pin not in self.find(pins).values()]
        if missing and self.pip:
            with self._naming_the_folder():
                self.root.mkdir(parents=True, exist_ok=True)
                self._forget_unused()
                if not self._download(missing, say, index) and len(missing) > 1:
                    # pip downloads nothing if one of the packages has no wheel, so download each by itself.
                    for pin in missing:
                        self._download([pin], lambda line: None, index)
        found = self.find(pins)
        for name in found:
            # A new time only delays the removal of the wheel. So it does not matter if the folder cannot be written.
            with contextlib.suppress(OSError):
                os.utime(self.root / name)
        return found

    @contextmanager
    def _naming_the_folder(self) -> Iterator[None]:
        """Turn an OSError of the `with` block into an HvdockerError that names the cache folder, the failure and the
        fix."""
        try:
            yield
        except OSError as error:
            is_full = error.errno in _FULL_DISK
            path = shlex.quote(str(error.filename or self.root))
            elsewhere = "set XDG_CACHE_HOME to another folder"
            raise HvdockerError(
                f"wheels cannot be downloaded into {self.root}: {error.strerror or error}",
                host=CONTROLLER,
                command=f"df -h {path}" if is_full else f"ls -ld {path}",
                lines=[str(error)],
                fix=f"free some space there (its wheels may be removed), or {elsewhere}"
                if is_full
                else f"let your user write there, or {elsewhere}",
            ) from error

    def _download(self, pins: Sequence[Pin], say: Say, index: str | None) -> bool:
        """Run `pip download` for the pins, and return whether it succeeded. A wheel is moved into the cache only when
        it is complete. Raise OSError if the folder cannot be written or its disk is full."""
        with tempfile.TemporaryDirectory(dir=self.root, prefix="draft-") as draft:
            lock = Path(draft) / "lock.txt"
            lock.write_text("".join(f"{pin.line}\n" for pin in pins), encoding="utf-8")
            words = [*self.pip, "download", "--no-deps", "--only-binary", ":all:", "--progress-bar", "off"]
            words += ["--python-version", PYTHON_VERSION, "--implementation", "cp", "--disable-pip-version-check"]
            words += [word for name in platforms(self.architecture) for word in ("--platform", name)]
            words += ["--index-url", index] if index else []
            # pip writes a wheel into TMPDIR first: in the draft, that is on the disk of the cache.
            environ = {**self.environ, "TMPDIR": draft}
            code, errors = _run([*words, "--dest", draft, "--requirement", str(lock)], environ, say)
            for number in _FULL_DISK:
                if code and f"[Errno {number}]" in errors:
                    raise OSError(number, os.strerror(number), str(self.root))
            for wheel in Path(draft).glob("*.whl"):
                wheel.replace(self.root / wheel.name)
        return code == 0

    def _forget_unused(self) -> None:
        for wheel in self.root.glob("*.whl"):
            if wheel.stat().st_mtime < time.time() - _UNUSED_S:
                wheel.unlink(missing_ok=True)


def user_wheel_cache(architecture: str, environ: Mapping[str, str]) -> WheelCache:
    """Return the user's cache: `hvdocker/wheels` in `$XDG_CACHE_HOME`, by default in `~/.cache`."""
    home = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return WheelCache(home / "hvdocker" / "wheels", architecture, _find_pip(environ), environ)


def _find_pip(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the words of the command that starts pip: the pip of the Python that runs hvdocker, else a pip on the
    PATH. Return an empty tuple if there is none."""
    if find_spec("pip"):
        return (sys.executable, "-m", "pip")
    found = shutil.which("pip3", path=environ.get("PATH")) or shutil.which("pip", path=environ.get("PATH"))
    return (found,) if found else ()


def _run(words: Sequence[str], environ: Mapping[str, str], say: Say) -> tuple[int, str]:
    """Run a program, and return its exit code and its standard error. `say` receives its standard output line by line.
    The exit code is 127 if the program cannot be started."""
    errors: list[bytes] = []
    try:
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environ)
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            stderr = process.stderr
            reader = threading.Thread(target=lambda: errors.append(stderr.read()), daemon=True)
            reader.start()
            for line in process.stdout:
                say(line.decode("utf-8", "replace").rstrip())
            reader.join()
    except OSError:
        return 127, ""
    return process.returncode, b"".join(errors).decode("utf-8", "replace")
