from hvdocker.cluster.status import HostStatus, JobStatus, StatusReport, _job_status
from hvdocker.errors import HostUnfit, HostUnreachable
from hvdocker.protocol.placement import Placement, Share
from tests.unit.builders import host_seen, host_with_worker, inventory, master

LAB = inventory("hosts: [a, b, c]\nport: 12345\n")


def report() -> StatusReport:
    seen = host_with_worker(LAB, "a")
    return StatusReport(
        LAB,
        (
            HostStatus("a", "gpu-a", seen.worker("a"), seen),
            HostStatus("b", "gpu-b", None, host_seen("b")),
            HostStatus("c", "gpu-c", error=HostUnreachable("refused", host="c")),
        ),
        (JobStatus("train-abcd", "running", Placement((Share("a", 1),)), "ada", 7),),
    )


def test_the_report_as_json() -> None:
    nothing = {"address": None, "port": None, "slots": None}
    assert report().as_json() == {
        "cluster": "lab",
        "image": "doc-hvd:cpu",
        "hosts": [
            {
                "name": "a", "host": "gpu-a", "state": "running", "address": "10.0.0.11", "port": 12345,
                "slots": 1, "engine": "27.0", "error": None,
            },
            {"name": "b", "host": "gpu-b", "state": "no worker", **nothing, "engine": "27.0", "error": None},
            {
                "name": "c", "host": "gpu-c", "state": "unreachable", **nothing, "engine": None,
                "error": "c: refused",
            },
        ],
        "jobs": [
            {"job": "train-abcd", "state": "running", "owner": "ada", "created": 7, "placement": {"a": 1}}
        ],
    }  # fmt: skip


def test_what_went_wrong_and_whether_it_is_up() -> None:
    assert [str(error) for error in report().errors] == ["c: refused"]
    assert not report().is_up
    assert HostStatus("a", "a", error=HostUnfit("no engine")).state == "unfit"


def test_a_jobs_state_in_words() -> None:
    jobs = [master("j", '{"a":1}', state=state) for state in ("running", "exited", "created")]
    states = [_job_status(job, job.placement).state for job in jobs]
    assert states == ["running", "ended", "created"]
