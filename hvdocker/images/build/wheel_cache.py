"""The cache of wheels on the controller. Image builds take wheels from it, so that a second build downloads nothing.

The controller's own pip downloads the wheels, so pip's configuration applies: indexes, local folders (PIP_FIND_LINKS),
proxies and certificates."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hvdocker.images.build.wheel_names import Pin, platforms, wheels_of

Say = Callable[[str], None]
# The Python of the images.
PYTHON_VERSION = "3.11"
_UNUSED_S = 90 * 86_400


@dataclass(frozen=True)
class WheelCache:
    """The folder `root` with wheels. `architecture` is that of the engine that builds, such as `amd64`.

    `pip` are the words that start the controller's pip, empty if the controller has none. `environ` are the variables
    of the controller."""

    root: Path
    architecture: str
    pip: tuple[str, ...]
    environ: Mapping[str, str]

    def find(self, pins: Sequence[Pin]) -> dict[str, Pin]:
        """Return the names of the wheels in the cache that fit the pins, each with its pin."""
        names = sorted(path.name for path in self.root.glob("*.whl"))
        return wheels_of(pins, names, self.architecture)

    def fetch(self, pins: Sequence[Pin], say: Say, index: str | None = None) -> dict[str, Pin]:
        """Download the wheels that the cache lacks, and return those that it then has, as `find` does.

        `index` is a package index to download from instead of those that pip is configured for. A wheel that cannot be
        downloaded is left out. `say` receives pip's output line by line."""
        missing = [pin for pin in pins if pin not in self.find(pins).values()]
        if missing and self.pip:
            self.root.mkdir(parents=True, exist_ok=True)
            self._forget_unused()
            if not self._download(missing, say, index) and len(missing) > 1:
                # One package without a wheel makes pip give up all of them.
                for pin in missing:
                    self._download([pin], lambda line: None, index)
        found = self.find(pins)
        for name in found:
            os.utime(self.root / name)
        return found

    def _download(self, pins: Sequence[Pin], say: Say, index: str | None) -> bool:
        """Run `pip download`, and return whether it succeeded. A wheel is moved into the cache only when it is
        complete."""
        with tempfile.TemporaryDirectory(dir=self.root, prefix="draft-") as draft:
            lock = Path(draft) / "lock.txt"
            lock.write_text("".join(f"{pin.line}\n" for pin in pins), encoding="utf-8")
            words = [*self.pip, "download", "--no-deps", "--only-binary", ":all:", "--progress-bar", "off"]
            words += ["--python-version", PYTHON_VERSION, "--implementation", "cp", "--disable-pip-version-check"]
            words += [word for name in platforms(self.architecture) for word in ("--platform", name)]
            words += ["--index-url", index] if index else []
            code = _run([*words, "--dest", draft, "--requirement", str(lock)], self.environ, say)
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
    """Return the words that start pip: that of the Python that runs hvdocker, else one on the PATH, else none."""
    if find_spec("pip"):
        return (sys.executable, "-m", "pip")
    found = shutil.which("pip3", path=environ.get("PATH")) or shutil.which("pip", path=environ.get("PATH"))
    return (found,) if found else ()


def _run(words: Sequence[str], environ: Mapping[str, str], say: Say) -> int:
    try:
        with subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environ)
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                say(line.decode("utf-8", "replace").rstrip())
    except OSError:
        return 127
    return process.returncode
