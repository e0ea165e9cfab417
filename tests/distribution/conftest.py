"""The wheel and the sdist of this checkout, and programs that install them. They need a package index."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Where `make bounds` has installed uv and pipx.
TOOLS = Path(os.environ.get("HVDOCKER_INSTALLERS", ROOT / ".venv-tools" / "bin"))


def run(*words: str | Path, **environment: str | Path) -> str:
    """Run a program to its end, which must be a good one; return what it printed."""
    env = os.environ | {name: str(value) for name, value in environment.items()}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, source: Path, target: Path) -> Path:
    """Build the wheel or the sdist of `source`; return its path."""
    run(sys.executable, "-m", "build", f"--{kind}", "--outdir", target, source)
    (found,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def unpacked_sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    return source
