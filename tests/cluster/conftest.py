"""Fixtures of the cluster tests: real hosts of the lab, reset for each test, and the installed program."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cli import Cli
from tests.cluster.faults.fixtures import row, training_trial, trial
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import LauncherCase, launcher, pytest_generate_tests
from tests.cluster.training import training_cluster

__all__ = ["launcher", "pytest_generate_tests", "row", "training_trial", "trial"]  # fixtures of launchers and faults

LAB = pytest.StashKey[Lab]()
LAB_TESTS = pytest.StashKey[set[str]]()
XDIST_TOTALS = pytest.StashKey[tuple[int, int]]()
# The key of `workeroutput` under which an xdist worker sends how many tests and hosts it used.
USED_KEY = "hvdocker_used"
SLOW_FILES = ("test_training", "test_run")


@pytest.fixture(scope="session")
def lab(pytestconfig: pytest.Config) -> Lab:
    pytestconfig.stash[LAB] = Lab.attach()
    return pytestconfig.stash[LAB]


@pytest.fixture
def hosts(lab: Lab) -> Callable[[int], list[LabHost]]:
    """`hosts(n)`: the hosts h1 to hN, with nothing on them but images."""
    return lab.fresh


@pytest.fixture
def special(lab: Lab) -> Callable[..., LabHost]:
    """`special(name, suite=…, gpus=…, tmpfs_mb=…)`: a host of another kind, with nothing on it but images."""

    def fresh(name: str, **kind: Any) -> LabHost:
        found = lab.ensure_special(name, **kind)
        found.reset()
        return found

    return fresh


@pytest.fixture
def cli(lab: Lab, tmp_path: Path) -> Iterator[Cli]:
    with _program(lab, tmp_path) as program:
        yield program


@pytest.fixture(scope="module")
def desk(lab: Lab, tmp_path_factory: pytest.TempPathFactory, launcher: LauncherCase) -> Iterator[Cli]:
    """The program with one home and one folder for all tests of a file and launcher, which share a cluster."""
    with _program(lab, tmp_path_factory.mktemp("desk")) as program:
        yield program


@pytest.fixture(scope="module")
def training(lab: Lab, desk: Cli, launcher: LauncherCase) -> Iterator[LabCluster]:
    """A cluster of two hosts that can train with the launcher, shared by the tests of a file; scripts are in
    code/."""
    with training_cluster(lab, desk, launcher=launcher) as site:
        yield site


@contextmanager
def _program(lab: Lab, folder: Path) -> Iterator[Cli]:
    home = folder / "home"
    (home / ".ssh").mkdir(mode=0o700, parents=True)
    program = Cli(folder, home, lab.state.known_hosts)
    try:
        yield program
    finally:
        program.close()


@pytest.fixture(autouse=True)
def _count(request: pytest.FixtureRequest) -> None:
    if "lab" in request.fixturenames:
        request.config.stash.setdefault(LAB_TESTS, set()).add(request.node.nodeid)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slow files first, so that no xdist worker is left with one at the end."""
    items.sort(key=lambda item: not item.path.stem.startswith(SLOW_FILES))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:  # Any: xdist, which may be missing
    from tests.cluster.scheduling import PerFileScheduling

    return PerFileScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if (told := getattr(session.config, "workeroutput", None)) is not None:
        told[USED_KEY] = _used(session.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # Any: a process of xdist
    tests, hosts = node.config.stash.get(XDIST_TOTALS, (0, 0))
    more_tests, more_hosts = getattr(node, "workeroutput", {}).get(USED_KEY, (0, 0))
    node.config.stash[XDIST_TOTALS] = (tests + more_tests, hosts + more_hosts)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    tests, hosts = config.stash.get(XDIST_TOTALS, _used(config))
    if tests:
        terminalreporter.line(f"lab: {tests} tests against {hosts} real hosts")


def _used(config: pytest.Config) -> tuple[int, int]:
    """Return how many tests used the lab, and how many hosts they used."""
    hosts = config.stash[LAB].used if LAB in config.stash else ()
    return len(config.stash.get(LAB_TESTS, ())), len(hosts)
