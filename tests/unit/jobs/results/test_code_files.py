"""Which files in the code folder are a job's work, and of which job."""

import json

import pytest

from hvdocker.jobs.results.code_files import NO_JOB, HostCode, parse_code


def listed(*rows: tuple[str, str]) -> bytes:
    """A listing of (path, time of the last change)."""
    return b"".join(f"//81a4/5/2026-01-01 {time}/2026-01-01 {time}/./{path}\n".encode() for path, time in rows)


SYNCED = (("train.py", "10:00"), ("config.json", "10:00"))
# Two jobs after each other, and a short one while the second still ran.
JOBS = listed(
    ("first-aaaa/job.json", "10:01"),
    ("first-aaaa/logs/rank-0.json", "11:00"),
    ("second-bbbb/job.json", "12:00"),
    ("second-bbbb/logs/rank-0.json", "15:00"),
    ("short-cccc/job.json", "13:00"),
    ("short-cccc/logs/rank-0.json", "13:05"),
    (".replaced/x", "09:00"),
)


def answer(
    code: bytes, replaced: bytes = b"", jobs: bytes = JOBS, pending: bytes = b"", closed: tuple[bytes, ...] = ()
) -> bytes:
    index = b"id digest\n[]\n" + listed(*SYNCED)
    return b"\0".join((index, pending, code, replaced, jobs, *closed, b"done"))


def found(data: bytes, running: tuple[str, ...] = ()) -> dict[str, list[str]]:
    code = parse_code(data, running)
    assert code is not None
    return {job: [file.name for file in files] for job, files in code.files.items()}


def test_what_a_sync_put_there_is_nobodys_work() -> None:
    assert found(answer(listed(*SYNCED))) == {}


def test_a_new_file_and_an_overwritten_one_are_the_jobs_work() -> None:
    code = listed(("train.py", "10:00"), ("config.json", "10:30"), ("checkpoints/model.h5", "10:45"))
    assert found(answer(code)) == {"first-aaaa": ["code/config.json", "code/checkpoints/model.h5"]}


@pytest.mark.parametrize(
    ("time", "job"),
    [
        ("10:30", "first-aaaa"),
        ("11:30", "first-aaaa"),  # between jobs: the newest that had begun
        ("12:30", "second-bbbb"),
        ("13:03", "short-cccc"),  # both ran: the newer one
        ("14:00", "second-bbbb"),  # the short one had ended
        ("16:00", "short-cccc"),
        ("09:00", "short-cccc"),  # before any job: the newest of all
    ],
)
def test_a_file_belongs_to_the_newest_job_that_ran_when_it_was_changed(time: str, job: str) -> None:
    assert found(answer(listed(("model.h5", time)))) == {job: ["code/model.h5"]}


def test_a_job_that_is_silent_for_hours_still_runs() -> None:
    late = answer(listed(("model.h5", "20:00")))
    assert found(late, ("second-bbbb",)) == {"second-bbbb": ["code/model.h5"]}


def test_without_a_job_files_belong_to_none() -> None:
    assert found(answer(listed(("model.h5", "10:30")), jobs=b"")) == {NO_JOB: ["code/model.h5"]}


def test_versions_that_syncs_replaced_keep_names_of_their_own() -> None:
    code = listed(("config.json", "10:50"))
    replaced = listed(("t1/config.json", "10:20"), ("t2/config.json", "10:40"), ("t2/deep/log", "10:40"))
    names = found(answer(code, replaced))["first-aaaa"]
    assert sorted(names) == ["code/config.json", "code/config.json.t1", "code/config.json.t2", "code/deep/log"]


def test_files_of_a_sync_that_was_interrupted_are_nobodys_work() -> None:
    row = ["new.py", 420, 5, 1767261600_000_000_000, "hash", ""]
    look = b"//81a4/5/2026-01-01 10:00:00.000000000 +0000/2026-01-01 12:30/./new.py\n"
    pending = json.dumps([row]).encode()
    assert found(answer(look, pending=pending)) == {}
    changed = look.replace(b"10:00:00", b"12:30:00")
    assert found(answer(changed, pending=pending)) == {"second-bbbb": ["code/new.py"]}


def test_a_folder_that_nobody_may_read_is_not_forgotten() -> None:
    code = parse_code(answer(b"", closed=(b"code/locked",)), ())
    assert code is not None and [file.is_closed for file in code.of("short-cccc")] == [True]


@pytest.mark.parametrize("data", [b"garbage", answer(b"")[:-4], answer(b"")[:-1], b"\0\0done"])
def test_an_answer_that_was_cut_off_is_none(data: bytes) -> None:
    assert parse_code(data, ()) is None


def test_a_cluster_without_a_folder_has_nothing() -> None:
    assert parse_code(b"", ()) == HostCode()


def test_the_digest_tells_every_change() -> None:
    before = parse_code(answer(listed(("m", "10:30"))), ())
    after = parse_code(answer(listed(("m", "10:31"))), ())
    assert before and after and before.digest("first-aaaa") != after.digest("first-aaaa")
    assert before.digest("other") == ""
