"""What cluster tests stand on: real hosts of the lab, fresh for each test, and the installed program."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cli import Cli
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import side_by_side

LAB = pytest.StashKey[Lab]()
TESTS = pytest.StashKey[set[str]]()


@pytest.fixture(scope="session")
def lab(pytestconfig: pytest.Config) -> Lab:
    pytestconfig.stash[LAB] = Lab.attach()
    return pytestconfig.stash[LAB]


@pytest.fixture
def hosts(lab: Lab) -> Callable[[int], list[LabHost]]:
    """`hosts(n)`: h1 to hN, with nothing on them but images."""

    def fresh(count: int) -> list[LabHost]:
        found = lab.ensure(count)
        side_by_side(LabHost.reset, found)
        return found

    return fresh


@pytest.fixture
def special(lab: Lab) -> Callable[..., LabHost]:
    """`special(name, suite=…, gpus=…, tmpfs_mb=…)`: a host of another kind, with nothing but images."""

    def fresh(name: str, **kind: Any) -> LabHost:
        found = lab.ensure_special(name, **kind)
        found.reset()
        return found

    return fresh


@pytest.fixture
def cli(lab: Lab, tmp_path: Path) -> Iterator[Cli]:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(mode=0o700, parents=True)
    program = Cli(tmp_path, home, lab.state.known_hosts)
    yield program
    program.close()


@pytest.fixture(autouse=True)
def _count(request: pytest.FixtureRequest) -> None:
    if "lab" in request.fixturenames:
        request.config.stash.setdefault(TESTS, set()).add(request.node.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if LAB in config.stash:
        tests, used = config.stash.get(TESTS, set()), config.stash[LAB].used
        terminalreporter.line(f"lab: {len(tests)} tests against {len(used)} real hosts")
