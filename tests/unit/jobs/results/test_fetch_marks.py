"""Which jobs were brought home; the mark counts only while the copy is there."""

import json
from pathlib import Path

from hvdocker.env import Env
from hvdocker.inventory.locate import Located
from hvdocker.inventory.state_folder import generate
from hvdocker.jobs.local_jobs import fetched_to
from hvdocker.jobs.results.code_files import NO_JOB, CodeFile, HostCode
from hvdocker.jobs.results.fetch_marks import (
    FetchMark,
    clear_fetched_hosts,
    mark_fetched,
    marked_into,
    unfetched_code,
    unfetched_jobs,
)
from hvdocker.jobs.results.merge import FetchedFiles
from tests.unit.builders import host_seen, master, state_of

STATE = state_of(
    host_seen("a", job_folders=("old-aaaa", "train-bbbb"), containers=(master("train-bbbb", "{}", created=1),)),
    host_seen("b", job_folders=("train-bbbb", "gone-cccc"), containers=(master("new-dddd", "{}", created=2),)),
)


def located(tmp_path: Path) -> Located:
    return generate(Env(cwd=tmp_path, environ={}), local=1)


def test_a_job_whose_name_is_a_path_is_no_job(tmp_path: Path) -> None:
    """A host's word for a job becomes a folder here."""
    paths = ("../../evil", "/etc/evil", "..", ".", "", ".ssh", "a/b", "a\nb", "a\x1b[2J")
    evil = tuple(master(path, "{}") for path in paths)
    state = state_of(host_seen("a", job_folders=(*paths, "My Job-1.x"), containers=evil))
    assert unfetched_jobs(located(tmp_path), state) == ("My Job-1.x",)


def test_what_was_not_brought_home(tmp_path: Path) -> None:
    here = located(tmp_path)
    assert unfetched_jobs(here, STATE) == ("old-aaaa", "train-bbbb", "gone-cccc")
    (tmp_path / "elsewhere").mkdir()
    mark_fetched(here, "train-bbbb", FetchMark(tmp_path / "elsewhere", frozenset(("a", "b"))))
    mark_fetched(here, "old-aaaa", FetchMark(here.jobs / "old-aaaa", frozenset(("a",))))
    assert unfetched_jobs(here, STATE) == ("gone-cccc",)


def test_a_job_whose_second_host_was_away_is_unfetched_when_it_is_back(tmp_path: Path) -> None:
    here = located(tmp_path)
    only_a = state_of(host_seen("a", job_folders=("train-bbbb",)))
    mark_fetched(here, "train-bbbb", FetchMark(here.jobs / "train-bbbb", frozenset(("a",))))
    assert unfetched_jobs(here, only_a) == ()
    assert "train-bbbb" in unfetched_jobs(here, STATE)
    mark_fetched(here, "train-bbbb", FetchMark(here.jobs / "train-bbbb", frozenset(("a", "b"))))
    assert "train-bbbb" not in unfetched_jobs(here, STATE)


def test_what_came_home_from_hosts_one_after_the_other_is_all_home(tmp_path: Path) -> None:
    here = located(tmp_path)
    (here.jobs / "train-bbbb").mkdir(parents=True)
    folder = here.jobs / "train-bbbb"
    for host in "ab":
        before = marked_into(here, "train-bbbb", folder)
        mark_fetched(here, "train-bbbb", before.with_fetched(FetchedFiles(folder, (host,), code={host: f"of {host}"})))
    assert "train-bbbb" not in unfetched_jobs(here, STATE)
    assert marked_into(here, "train-bbbb", folder).code == {"a": "of a", "b": "of b"}
    assert marked_into(here, "train-bbbb", tmp_path) == FetchMark(tmp_path), "elsewhere is only what was brought there"


def test_a_copy_that_was_removed_counts_no_more_when_a_part_of_it_comes_again(tmp_path: Path) -> None:
    here, folder = located(tmp_path), tmp_path / "elsewhere"
    folder.mkdir()
    mark_fetched(here, "train-bbbb", FetchMark(folder, frozenset(("a", "b"))))
    folder.rmdir()
    before = marked_into(here, "train-bbbb", folder)
    folder.mkdir()
    mark_fetched(here, "train-bbbb", before.with_fetched(FetchedFiles(folder, ("b",))))
    assert "train-bbbb" in unfetched_jobs(here, STATE)


def test_a_job_that_is_run_again_is_not_home(tmp_path: Path) -> None:
    here = located(tmp_path)
    clear_fetched_hosts(here, "train-bbbb")
    mark_fetched(here, "train-bbbb", FetchMark(here.jobs / "train-bbbb", frozenset(("a", "b"))))
    assert "train-bbbb" not in unfetched_jobs(here, STATE)
    clear_fetched_hosts(here, "train-bbbb")
    assert "train-bbbb" in unfetched_jobs(here, STATE)
    assert fetched_to(here, "train-bbbb") == here.jobs / "train-bbbb"


def test_a_host_that_was_cleaned_meanwhile_needs_no_second_fetch(tmp_path: Path) -> None:
    here = located(tmp_path)
    mark_fetched(here, "gone-cccc", FetchMark(here.jobs / "gone-cccc", frozenset(("a", "b"))))
    assert "gone-cccc" not in unfetched_jobs(here, STATE)


def test_a_copy_that_is_gone_is_no_copy(tmp_path: Path) -> None:
    here = located(tmp_path)
    mark_fetched(here, "train-bbbb", FetchMark(tmp_path / "elsewhere", frozenset(("a", "b"))))
    assert "train-bbbb" in unfetched_jobs(here, STATE)


def test_a_damaged_mark_is_no_mark(tmp_path: Path) -> None:
    here = located(tmp_path)
    mark_fetched(here, "train-bbbb", FetchMark(here.jobs, frozenset(("a", "b"))))
    whole = json.dumps({"folder": str(here.jobs)})
    for text in ("", "{", "{}", "[]", "null", '{"folder": null}', '{"folder": null, "hosts": ["a"]}', whole):
        (here.jobs / "train-bbbb" / "fetched.json").write_text(text)
        assert "train-bbbb" in unfetched_jobs(here, STATE)


def left(**looks: str) -> HostCode:
    """Return what a host has in its code folder: by job, a file with this content of its listing."""
    return HostCode({job: (CodeFile(f"code/{job}", f"code/{job}", look.encode()),) for job, look in looks.items()})


def test_what_jobs_saved_beside_the_script_is_not_home_before_it_came_as_it_is_now(tmp_path: Path) -> None:
    here = located(tmp_path)
    now = {"a": left(one="x", two="y"), "b": left(one="z")}
    assert unfetched_code(here, now) == ("one", "two")
    (here.jobs / "one").mkdir(parents=True)
    mark = FetchMark(here.jobs / "one", code={host: found.digest("one") for host, found in now.items()})
    mark_fetched(here, "one", mark)
    assert unfetched_code(here, now) == ("two",)
    assert unfetched_code(here, {**now, "b": left(one="changed since")}) == ("two", "one")


def test_what_was_written_without_a_job_is_never_home_by_a_mark(tmp_path: Path) -> None:
    assert unfetched_code(located(tmp_path), {"a": HostCode({NO_JOB: (CodeFile("code/x", "code/x"),)})}) == ("",)
