"""A pytest plugin: with `--strict-run` or HVDOCKER_STRICT=1, a test that did not really run fails the run.

Skipped, expected to fail, or deselected: each is a test that proves nothing while the summary looks green.
"""

import os
from collections.abc import Sequence

import pytest

SILENT = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--strict-run",
        action="store_true",
        help="fail when any test is skipped, xfailed or deselected (also HVDOCKER_STRICT=1)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SILENT] = []
    if config.getoption("--strict-run") or os.environ.get("HVDOCKER_STRICT") == "1":
        config.pluginmanager.register(Strictness(config.stash[SILENT]), "hvdocker-strictness")


class Strictness:
    """Collects the tests that did not really run, and turns the run red for them."""

    def __init__(self, silent: list[str]) -> None:
        self.silent = silent

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.silent.append(f"skipped: {report.nodeid}")

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.silent.extend(f"deselected: {item.nodeid}" for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, "wasxfail"):
            self.silent.append(f"xfail: {report.nodeid}")
        elif report.skipped:
            self.silent.append(f"skipped: {report.nodeid}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.silent and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.silent:
            terminalreporter.section("strict run: these tests did not really run", red=True)
            for line in self.silent:
                terminalreporter.line(line)
