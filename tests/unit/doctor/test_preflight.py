"""What the doctor finds bad is an error in its own words."""

from pathlib import Path

import pytest

from hvdocker.doctor import preflight
from hvdocker.doctor.preflight import _hosts_to_leave_out, report_errors
from hvdocker.doctor.report import DoctorReport, Finding, HostReport, Mark
from hvdocker.env import Env
from hvdocker.errors import HostUnfit, HostUnreachable
from hvdocker.inventory.locate import Located
from hvdocker.placement.slots import SlotRequest
from hvdocker.protocol.placement import Share
from tests.unit.builders import inventory


def test_bad_findings_become_errors_with_evidence_and_way_out() -> None:
    findings = (
        Finding("engine", Mark.GOOD, "27.0"),
        Finding("cpu", Mark.WARN, "busy"),
        Finding("storage", Mark.BAD, "vfs", ("asked",), "docker info", "use overlay2"),
    )
    away = (Finding("answers", Mark.BAD, "refused", is_unreachable=True),)
    across = (Finding("same image", Mark.BAD, "two builds"),)
    unfit, gone, all_hosts = report_errors(
        DoctorReport("lab", (HostReport("a", findings), HostReport("b", away)), (), across)
    )
    assert isinstance(unfit, HostUnfit) and str(unfit) == "a: storage: vfs"
    assert (unfit.command, unfit.lines, unfit.fix) == ("docker info", ("asked",), "use overlay2")
    assert isinstance(gone, HostUnreachable) and gone.host == "b"
    assert all_hosts.host is None and all_hosts.what == "same image: two builds"


LAB = Located(inventory("hosts: [a, b, c]"), Path("inventory.yaml"))


@pytest.mark.parametrize(
    ("request_", "bad", "spared"),
    [
        (None, "b", set()),
        (SlotRequest(np=2), "b", {"b"}),
        (SlotRequest(np=2, include=("a", "b")), "b", set()),
        (SlotRequest(exact=(Share("b", 1),)), "b", set()),
        # Where nothing is left their own errors say more.
        (SlotRequest(np=2), "abc", set()),
        (SlotRequest(np=2, exclude=("a",)), "bc", set()),
    ],
)
def test_who_wants_some_slots_does_without_hosts_that_are_not_fit(
    request_: SlotRequest | None, bad: str, spared: set[str]
) -> None:
    assert _hosts_to_leave_out(LAB, request_, [HostUnfit("no", host=name) for name in bad]) == spared


def test_an_unfit_host_that_the_user_excluded_is_excluded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = (Finding("storage", Mark.BAD, "vfs"),)
    report = DoctorReport("lab", (HostReport("a", bad), HostReport("b", bad), HostReport("c", ())), (), ())
    monkeypatch.setattr(preflight, "doctor", lambda *_: report)
    request = preflight.run_preflight(Env(), LAB, False, SlotRequest(np=1, exclude=("b",)))
    assert request == SlotRequest(np=1, exclude=("b", "a"))
