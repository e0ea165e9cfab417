"""History: live jobs and those that came home, each once."""

import json
from dataclasses import replace
from pathlib import Path

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable
from hvdocker.inventory.locate import Located, locate_past
from hvdocker.jobs.jobs import JobsReport, ListedJob, _listed_job, jobs, merge_local_jobs
from hvdocker.jobs.local_jobs import LocalJob, local_job, local_jobs, write_master_file
from hvdocker.observe.masters import MasterSeen, master_facts
from hvdocker.observe.state import ContainerSeen
from hvdocker.protocol.placement import Placement, Share
from hvdocker.protocol.resilience import Elastic
from tests.unit.builders import inventory, master

ONE = Placement((Share("a", 1),))
LIVE = ListedJob("train-abcd", "lab", "ada", "running", ONE, "a", 100.0, 5.0, "train.py")


def located(tmp_path: Path) -> Located:
    return Located(inventory("hosts: [a, b]"), tmp_path / "inventory.yaml")


def labelled(seen: ContainerSeen, **labels: str) -> ContainerSeen:
    return replace(seen, labels={**seen.labels, **{f"hvdocker.{name}": value for name, value in labels.items()}})


def at_home(tmp_path: Path, job: str, **record: object) -> LocalJob:
    """As `down` leaves it."""
    here = located(tmp_path)
    logs = here.jobs / job / "logs"
    logs.mkdir(parents=True)
    told = {"job": job, "cluster": "lab", "state": "succeeded", "code": 0, "started": 10.0, "finished": 20.0}
    (logs / "record.json").write_text(json.dumps({**told, **record}))
    return local_job(here, job)


def test_what_labels_tell() -> None:
    seen = labelled(master("train-abcd", '{"a":2}', created=90), owner="ada", script="train.py", elastic="1:4")
    two = Placement((Share("a", 2),))
    assert _listed_job("a", MasterSeen(seen, 95.0), two, 100.0) == ListedJob(
        "train-abcd", "lab", "ada", "running", two, "a", 90, 5.0, "train.py", None, Elastic(1, 4)
    )
    ended = replace(seen, state="exited", exit_code=1)
    assert _listed_job("a", MasterSeen(ended, 95.0, 97.0), two, 100.0) == ListedJob(
        "train-abcd", "lab", "ada", "failed", two, "a", 90, 2.0, "train.py", 1, Elastic(1, 4)
    )


def test_running_ones_first_then_newest(tmp_path: Path) -> None:
    ended = replace(LIVE, job="old-aaaa", state="failed", created=50.0)
    homes = [at_home(tmp_path, "home-cccc", started=70.0), at_home(tmp_path, "home-dddd", started=200.0)]
    assert [job.job for job in merge_local_jobs([ended, LIVE], homes)] == [
        "train-abcd",
        "home-dddd",
        "home-cccc",
        "old-aaaa",
    ]


def test_a_job_that_is_live_and_at_home_is_one_row_and_the_record_fills_the_gaps(tmp_path: Path) -> None:
    home = at_home(tmp_path, "train-abcd", state="failed", code=1, restarts=3)
    killed = replace(LIVE, state="ended", exit_code=137, seconds=None, script="")
    (row,) = merge_local_jobs([killed], [home])
    folder = str(tmp_path / ".hvdocker" / "jobs" / "train-abcd")
    assert row == replace(killed, state="failed", seconds=10.0, script="train", restarts=3, local_folder=folder)


def test_what_runs_is_running_whatever_came_home_before(tmp_path: Path) -> None:
    (row,) = merge_local_jobs([LIVE], [at_home(tmp_path, "train-abcd", state="stopped", code=143)])
    assert (row.state, row.exit_code, row.seconds) == ("running", None, 5.0)


def test_of_two_containers_of_a_job_the_newest_counts_once() -> None:
    dead = replace(LIVE, host="b", state="ended", exit_code=137, created=40.0)
    assert merge_local_jobs([dead, LIVE], []) == [LIVE]


def test_jobs_of_equal_names_in_two_clusters_are_two(tmp_path: Path) -> None:
    other = replace(LIVE, cluster="other")
    rows = merge_local_jobs([LIVE, other], [at_home(tmp_path, "train-abcd")])
    assert [(row.cluster, bool(row.local_folder)) for row in rows] == [("lab", True), ("other", False)]


def test_home_copies_without_job_files_and_with_damaged_ones(tmp_path: Path) -> None:
    here = located(tmp_path)
    for job in ("bare-aaaa", "torn-bbbb"):
        (here.jobs / job / "logs").mkdir(parents=True)
    (here.jobs / "torn-bbbb" / "logs" / "record.json").write_bytes(b'{"state": "fai\xff')
    (here.jobs / ".fetching-x").mkdir()
    (here.jobs / "a file").write_text("no folder")
    rows = merge_local_jobs([], local_jobs(here).values())
    assert [(row.job, row.state, row.script, row.created) for row in rows] == [
        ("bare-aaaa", "unknown", "bare", None),
        ("torn-bbbb", "unknown", "torn", None),
    ]


def test_the_container_tells_whose_job_it_was_after_it_is_gone(tmp_path: Path) -> None:
    here = located(tmp_path)
    inspected = {
        "Created": "2024-05-04T03:00:00.5Z",
        "Config": {"Labels": {"hvdocker.owner": "ada", "hvdocker.cluster": "lab", "maker": "nobody"}},
        "State": {
            "Running": False, "ExitCode": 143,
            "StartedAt": "2024-05-04T03:00:01.1Z", "FinishedAt": "2024-05-04T03:00:11.2Z",
        },
    }  # fmt: skip
    write_master_file(here, "train-abcd", master_facts(inspected))
    kept = json.loads((here.jobs / "train-abcd" / "master.json").read_text())
    assert kept["labels"] == {"hvdocker.owner": "ada", "hvdocker.cluster": "lab"}
    (row,) = merge_local_jobs([], [local_job(here, "train-abcd")])
    assert (row.owner, row.cluster, row.state, row.exit_code, row.seconds) == (
        "ada",
        "lab",
        "stopped",
        143,
        10.0,
    )


def test_files_that_were_fetched_elsewhere_are_read_there(tmp_path: Path) -> None:
    here = located(tmp_path)
    elsewhere = at_home(tmp_path / "elsewhere", "train-abcd").folder
    (here.jobs / "train-abcd").mkdir(parents=True)
    mark = {"job": "train-abcd", "folder": str(elsewhere), "hosts": ["a"]}
    (here.jobs / "train-abcd" / "fetched.json").write_text(json.dumps(mark))
    assert local_job(here, "train-abcd").past.state == "succeeded"
    assert local_job(here, "train-abcd").folder == elsewhere


def test_hosts_that_are_away_do_not_hide_what_is_at_home(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    at_home(tmp_path, "train-abcd")
    lab = inventory("hosts: [a]\nssh: {key: /no/such/key}\n")
    report = jobs(Env(cwd=tmp_path), Located(lab, tmp_path / "inventory.yaml"))
    assert [job.job for job in report.jobs] == ["train-abcd"]
    assert [str(error) for error in report.errors.values()] == ["a: the SSH key /no/such/key is not there"]


def test_where_no_cluster_is_known_what_is_at_home_is(tmp_path: Path) -> None:
    at_home(tmp_path, "train-abcd")
    (tmp_path / "below").mkdir()
    env = Env(cwd=tmp_path / "below", environ={})
    report = jobs(env, locate_past(env, None))
    assert ([job.job for job in report.jobs], report.errors) == (["train-abcd"], {})


def test_all_of_it_as_json(tmp_path: Path) -> None:
    home = at_home(tmp_path, "home-cccc")
    elastic = replace(LIVE, elastic=Elastic(1, 4))
    lab = inventory("hosts: [a, b]")
    report = JobsReport(lab, tuple(merge_local_jobs([elastic], [home])), (), 0, {"b": HostUnreachable("off", host="b")})
    assert report.as_json()["jobs"] == [
        {
            "job": "train-abcd", "cluster": "lab", "owner": "ada", "script": "train.py", "state": "running",
            "exit_code": None, "launcher": None, "np": 1, "min_np": 1, "max_np": 4, "placement": {"a": 1}, "host": "a",
            "created": 100.0, "seconds": 5.0, "restarts": 0, "home": None,
        },
        {
            "job": "home-cccc", "cluster": "lab", "owner": None, "script": "home", "state": "succeeded",
            "exit_code": 0, "launcher": None, "np": None, "min_np": None, "max_np": None, "placement": {}, "host": None,
            "created": 10.0, "seconds": 10.0, "restarts": 0,
            "home": str(tmp_path / ".hvdocker" / "jobs" / "home-cccc"),
        },
    ]  # fmt: skip
