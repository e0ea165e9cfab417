"""One job that cannot be brought home does not keep the others from coming."""

import pytest

from hvdocker.errors import ExitCode, HostErrors, HvdockerError, Locked
from hvdocker.jobs.actions import ACTIONS
from hvdocker.jobs.steps import FetchJobs
from hvdocker.plan.apply import Context
from hvdocker.plan.plan import CONTROLLER
from tests.unit.builders import inventory


def fetch_all(*jobs: str, error: HvdockerError) -> list[str]:
    """Fetch jobs, of which those that begin with `bad` fail; return the ones that were tried."""
    tried: list[str] = []

    def fetch(job: str) -> None:
        tried.append(job)
        if job.startswith("bad"):
            raise type(error)(error.what)

    try:
        ACTIONS[FetchJobs](FetchJobs(CONTROLLER, jobs), Context(inventory("hosts: [a]"), {}, fetch=fetch))
    except HvdockerError as raised:
        error.__cause__ = raised
    return tried


def test_jobs_after_a_failing_one_are_tried_and_all_failures_told() -> None:
    error = HvdockerError("name too long")
    assert fetch_all("bad-1", "good", "bad-2", "last", error=error) == ["bad-1", "good", "bad-2", "last"]
    assert isinstance(error.__cause__, HostErrors)
    assert [one.what for one in error.__cause__.errors] == ["bad-1: name too long", "bad-2: name too long"]


@pytest.mark.parametrize("kind", [Locked])
def test_a_lost_lock_ends_it_at_once(kind: type[HvdockerError]) -> None:
    assert kind.exit_code == ExitCode.LOCKED
    assert fetch_all("bad-1", "good", error=kind("another holds it")) == ["bad-1"]
