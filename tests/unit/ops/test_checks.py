"""What the doctor finds bad is an error in its own words."""

from hvdocker.errors import HostUnfit, HostUnreachable
from hvdocker.model.report import Finding, HostReport, Mark, Report
from hvdocker.ops.checks import bad_news


def test_bad_findings_become_errors_with_evidence_and_way_out() -> None:
    findings = (
        Finding("engine", Mark.GOOD, "27.0"),
        Finding("cpu", Mark.WARN, "busy"),
        Finding("clock", Mark.BAD, "2 min behind", ("asked",), "date", "sudo timedatectl set-ntp true"),
    )
    away = (Finding("answers", Mark.BAD, "refused", is_unreachable=True),)
    across = (Finding("same image", Mark.BAD, "two builds"),)
    unfit, gone, all_hosts = bad_news(
        Report("lab", (HostReport("a", findings), HostReport("b", away)), (), across)
    )
    assert isinstance(unfit, HostUnfit) and str(unfit) == "a: clock: 2 min behind"
    assert (unfit.command, unfit.lines, unfit.fix) == ("date", ("asked",), "sudo timedatectl set-ntp true")
    assert isinstance(gone, HostUnreachable) and gone.host == "b"
    assert all_hosts.host is None and all_hosts.what == "same image: two builds"
