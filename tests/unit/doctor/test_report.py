"""What a report amounts to, as an exit code and as its worst mark."""

import pytest

from hvdocker.doctor.report import DoctorReport, Finding, HostReport, Mark, PairReport
from hvdocker.errors import ExitCode

GOOD, WARN, GREY = (Finding("x", mark, "y") for mark in (Mark.GOOD, Mark.WARN, Mark.UNKNOWN))
BAD = Finding("x", Mark.BAD, "y")
AWAY = Finding("answers", Mark.BAD, "y", is_unreachable=True)


@pytest.mark.parametrize(
    ("of_host", "of_pair", "of_all", "code", "mark"),
    [
        (GOOD, GOOD, GOOD, ExitCode.OK, "good"),
        (WARN, GREY, WARN, ExitCode.OK, "warn"),
        (GREY, GREY, GREY, ExitCode.OK, "unknown"),
        (BAD, GOOD, GOOD, ExitCode.UNFIT, "bad"),
        (GOOD, BAD, GOOD, ExitCode.UNFIT, "bad"),
        (GOOD, GOOD, BAD, ExitCode.UNFIT, "bad"),
        (AWAY, GREY, GOOD, ExitCode.UNREACHABLE, "bad"),
        (AWAY, BAD, BAD, ExitCode.UNREACHABLE, "bad"),
    ],
)
def test_the_worst_decides(of_host: Finding, of_pair: Finding, of_all: Finding, code: ExitCode, mark: str) -> None:
    hosts = (HostReport("a", (GOOD, of_host)), HostReport("b", (GOOD,)))
    report = DoctorReport("lab", hosts, (PairReport("a", "b", (GOOD, of_pair)),), (GOOD, of_all))
    assert (report.exit_code, report.as_json()["mark"]) == (code, mark)
