"""The wheel in an empty environment, by each of the usual installers."""

import sys
from pathlib import Path

from hvdocker import __version__
from tests.distribution.conftest import TOOLS, run

VERSION = f"hvdocker {__version__}\n"


def test_pip(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path)
    python = tmp_path / "bin" / "python"
    run(python, "-m", "pip", "install", wheel)
    assert run(tmp_path / "bin" / "hvdocker", "--version") == VERSION
    assert run(python, "-m", "hvdocker", "version") == VERSION
    assert "No broken requirements" in run(python, "-m", "pip", "check")


def test_pipx(wheel: Path, tmp_path: Path) -> None:
    homes = {"PIPX_HOME": tmp_path / "home", "PIPX_BIN_DIR": tmp_path / "bin", "PIPX_MAN_DIR": tmp_path / "man"}
    run(TOOLS / "pipx", "install", "--python", sys.executable, wheel, **homes)
    assert run(tmp_path / "bin" / "hvdocker", "--version") == VERSION


def test_uv(wheel: Path, tmp_path: Path) -> None:
    homes = {"UV_TOOL_DIR": tmp_path / "tools", "UV_TOOL_BIN_DIR": tmp_path / "bin"}
    run(TOOLS / "uv", "tool", "install", "--python", sys.executable, wheel, **homes)
    assert run(tmp_path / "bin" / "hvdocker", "--version") == VERSION
