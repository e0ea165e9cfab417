"""The installed program with its own home, for tests that need no host."""

from pathlib import Path

from tests.cluster.cli import Cli


def installed_cli(folder: Path) -> Cli:
    cwd, home = folder / "work", folder / "home"
    cwd.mkdir()
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    return Cli(cwd=cwd, home=home, known_hosts=folder / "none", pins_hosts=False)
