"""A pytest plugin that prints a table of the faults that were tried at the end of a run."""

from typing import Any

import pytest

from tests.cluster.faults.matrix import Outcome, fault_rows, outcome_table

OUTCOMES = pytest.StashKey[dict[str, Outcome]]()
# The pytest property in which a trial records its reaction time in seconds.
REACTION_PROPERTY = "reaction_s"
FAULT_TESTS = ("tests/chaos/", "tests/cluster/test_faults.py", "tests/cluster/test_training_faults.py")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OUTCOMES] = {}
    config.pluginmanager.register(_Recorder(config.stash[OUTCOMES]), "hvdocker-faults")


class _Recorder:
    def __init__(self, outcomes: dict[str, Outcome]) -> None:
        self.outcomes = outcomes

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.nodeid.startswith(FAULT_TESTS) or (report.when != "call" and report.passed):
            return
        name = report.nodeid.partition("::")[2].partition("[")[0].removeprefix("test_")
        measured: dict[str, Any] = dict(report.user_properties)  # Any: whatever tests record
        seen = Outcome(report.passed, measured.get(REACTION_PROPERTY))
        self.outcomes[name] = seen.worst_of(self.outcomes.get(name, seen))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.outcomes:
            terminalreporter.section("faults")
            for line in outcome_table(fault_rows(), self.outcomes):
                terminalreporter.line(line)
