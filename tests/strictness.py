"""A pytest plugin: with `--strict-run` or HVDOCKER_STRICT=1, a test that did not really run fails the run.

A test that is skipped, expected to fail or deselected proves nothing while the summary looks green. If tests
run in several processes (`-n`), each xdist worker sends its list to the controlling process.
"""

import os
from collections.abc import Sequence
from typing import Any

import pytest

NOT_RUN = pytest.StashKey[dict[str, None]]()
# The key of `workeroutput` under which an xdist worker sends its list.
NOT_RUN_KEY = "hvdocker_silent"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--strict-run",
        action="store_true",
        help="fail when any test is skipped, xfailed or deselected (also HVDOCKER_STRICT=1)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[NOT_RUN] = {}
    if config.getoption("--strict-run") or os.environ.get("HVDOCKER_STRICT") == "1":
        config.pluginmanager.register(Strictness(config.stash[NOT_RUN]), "hvdocker-strictness")


class Strictness:
    """Collects the tests that did not really run, and fails the run if there are any."""

    def __init__(self, silent: dict[str, None]) -> None:
        self.not_run = silent

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._add(f"skipped: {report.nodeid}")

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._add(*(f"deselected: {item.nodeid}" for item in items))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "wasxfail"):
            self._add(f"xfail: {report.nodeid}")
        elif report.skipped:
            self._add(f"skipped: {report.nodeid}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # Any: a process of xdist
        self._add(*getattr(node, "workeroutput", {}).get(NOT_RUN_KEY, ()))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (told := getattr(session.config, "workeroutput", None)) is not None:
            told[NOT_RUN_KEY] = list(self.not_run)
        elif self.not_run and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.not_run:
            terminalreporter.section("strict run: these tests did not really run", red=True)
            for line in self.not_run:
                terminalreporter.line(line)

    def _add(self, *lines: str) -> None:
        """Add lines, each once: a skipped test is reported both by its xdist worker and as a test report."""
        self.not_run.update(dict.fromkeys(lines))
