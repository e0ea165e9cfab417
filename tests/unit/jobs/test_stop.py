"""Stopping a job whose head is away."""

import pytest

from hvdocker.errors import ExitCode, HostUnreachable, HvdockerError
from hvdocker.jobs.lookup import FoundJob, JobsSeen
from hvdocker.jobs.stop import StopReport, _without_master
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import host_with_worker, inventory, state_of
from tests.unit.fakes import FakeEngine, FakeLink

LAB = inventory("hosts: [a, b]\nport: 12345\n")
AWAY: dict[str, HvdockerError] = {"a": HostUnreachable("a:22 did not answer", host="a")}


class Quiet(FakeLink):
    """A worker in which no rank runs."""

    def engine(self) -> FakeEngine:
        return FakeEngine()


def stopped(away: dict[str, HvdockerError], *hosts: str) -> StopReport:
    placement = Placement(tuple(Share(host, 1) for host in hosts))
    observed = JobsSeen(state_of(host_with_worker(LAB, "b")), {"b": Quiet("b")}, away)
    return _without_master(FoundJob("train-abcd", observed, None, None, placement))


@pytest.mark.parametrize(("hosts", "verb"), [(("a", "b"), "is"), ((), "may be")])
def test_a_head_that_is_away_is_named(hosts: tuple[str, ...], verb: str) -> None:
    with pytest.raises(HostUnreachable) as caught:
        stopped(AWAY, *hosts).raise_errors()
    assert str(caught.value) == f"a: the container of train-abcd {verb} there, and could not be stopped"
    assert "15 s" in str(caught.value.fix) and caught.value.exit_code == ExitCode.UNREACHABLE


def test_a_job_whose_container_is_gone_has_ended() -> None:
    report = stopped({}, "a", "b")
    report.raise_errors()
    assert report == StopReport("train-abcd", False)
