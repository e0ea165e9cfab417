"""Which jobs were brought home; the mark counts only while the copy is there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable
from hvdocker.inventory.locate import Located
from hvdocker.inventory.state_folder import generate
from hvdocker.jobs.fetch import (
    FetchReport,
    clear_fetched_hosts,
    has_ended,
    hosts_fetched_into,
    mark_fetched,
    missing_hosts,
    unfetched_jobs,
)
from hvdocker.jobs.local_jobs import fetched_to
from hvdocker.jobs.lookup import FoundJob, JobsSeen
from hvdocker.jobs.results.merge import FetchedFiles, merge
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
    mark_fetched(here, "train-bbbb", tmp_path / "elsewhere", ("a", "b"))
    mark_fetched(here, "old-aaaa", here.jobs / "old-aaaa", ("a",))
    assert unfetched_jobs(here, STATE) == ("gone-cccc",)


def test_a_job_whose_second_host_was_away_is_unfetched_when_it_is_back(tmp_path: Path) -> None:
    here = located(tmp_path)
    only_a = state_of(host_seen("a", job_folders=("train-bbbb",)))
    mark_fetched(here, "train-bbbb", here.jobs / "train-bbbb", ("a",))
    assert unfetched_jobs(here, only_a) == ()
    assert "train-bbbb" in unfetched_jobs(here, STATE)
    mark_fetched(here, "train-bbbb", here.jobs / "train-bbbb", ("a", "b"))
    assert "train-bbbb" not in unfetched_jobs(here, STATE)


def test_what_came_home_from_hosts_one_after_the_other_is_all_home(tmp_path: Path) -> None:
    here = located(tmp_path)
    (here.jobs / "train-bbbb").mkdir(parents=True)
    folder = here.jobs / "train-bbbb"
    for host in "ab":
        mark_fetched(here, "train-bbbb", folder, {*hosts_fetched_into(here, "train-bbbb", folder), host})
    assert "train-bbbb" not in unfetched_jobs(here, STATE)
    assert hosts_fetched_into(here, "train-bbbb", tmp_path) == set(), "elsewhere is only what was brought there"


def test_a_copy_that_was_removed_counts_no_more_when_a_part_of_it_comes_again(tmp_path: Path) -> None:
    here, folder = located(tmp_path), tmp_path / "elsewhere"
    folder.mkdir()
    mark_fetched(here, "train-bbbb", folder, ("a", "b"))
    folder.rmdir()
    before = hosts_fetched_into(here, "train-bbbb", folder)
    folder.mkdir()
    mark_fetched(here, "train-bbbb", folder, before | {"b"})
    assert "train-bbbb" in unfetched_jobs(here, STATE)


def test_outputs_of_a_host_that_was_away_at_down_are_not_home_by_an_earlier_fetch(tmp_path: Path) -> None:
    """While the job ran both came home, which is no mark: what `a` wrote since is still there."""
    here, folder = located(tmp_path), tmp_path / "home"
    for number, staged in enumerate([("a", "b"), ("b",)]):
        places = [(host, tmp_path / f"staged-{number}" / host) for host in staged]
        for host, place in places:
            (place / "out").mkdir(parents=True)
            (place / "out" / host).write_text(f"step {number}")
        fetched = FetchedFiles(folder)
        folder.mkdir(exist_ok=True)
        merge("train-bbbb", places, fetched)
    assert fetched.hosts == ("b",)
    mark_fetched(here, "train-bbbb", folder, fetched.hosts)
    assert "train-bbbb" in unfetched_jobs(here, STATE)


def test_a_job_that_is_run_again_is_not_home(tmp_path: Path) -> None:
    here = located(tmp_path)
    clear_fetched_hosts(here, "train-bbbb")
    mark_fetched(here, "train-bbbb", here.jobs / "train-bbbb", ("a", "b"))
    assert "train-bbbb" not in unfetched_jobs(here, STATE)
    clear_fetched_hosts(here, "train-bbbb")
    assert "train-bbbb" in unfetched_jobs(here, STATE)
    assert fetched_to(here, "train-bbbb") == here.jobs / "train-bbbb"


@pytest.mark.parametrize(("code", "is_sure"), [(0, True), (1, True), (143, True), (137, False), (255, False)])
def test_with_a_host_away_only_a_supervisor_that_ended_by_itself_tells_that_a_job_is_over(
    code: int, is_sure: bool
) -> None:
    """One that died with its head may have been placed again, on the host that is away now."""
    away = HostUnreachable("refused", host="b")
    ended = replace(master("train-bbbb", '{"a":1,"b":1}', state="exited"), exit_code=code)
    found = FoundJob("train-bbbb", JobsSeen(state_of(host_seen("a", containers=(ended,))), {}), ended)
    assert has_ended(found, [away]) is is_sure
    assert has_ended(found, [])
    unseen = FoundJob("train-bbbb", JobsSeen(state_of(host_seen("b")), {}), None)
    assert (has_ended(unseen, [away]), has_ended(unseen, [])) == (False, True)


def test_a_host_that_was_cleaned_meanwhile_needs_no_second_fetch(tmp_path: Path) -> None:
    here = located(tmp_path)
    mark_fetched(here, "gone-cccc", here.jobs / "gone-cccc", ("a", "b"))
    assert "gone-cccc" not in unfetched_jobs(here, STATE)


def test_a_copy_that_is_gone_is_no_copy(tmp_path: Path) -> None:
    here = located(tmp_path)
    mark_fetched(here, "train-bbbb", tmp_path / "elsewhere", ("a", "b"))
    assert "train-bbbb" in unfetched_jobs(here, STATE)


def test_a_damaged_mark_is_no_mark(tmp_path: Path) -> None:
    here = located(tmp_path)
    mark_fetched(here, "train-bbbb", here.jobs, ("a", "b"))
    whole = json.dumps({"folder": str(here.jobs)})
    for text in ("", "{", "{}", "[]", "null", '{"folder": null}', '{"folder": null, "hosts": ["a"]}', whole):
        (here.jobs / "train-bbbb" / "fetched.json").write_text(text)
        assert "train-bbbb" in unfetched_jobs(here, STATE)


def test_hosts_that_are_away_are_missed_where_they_may_have_files_of_the_job() -> None:
    away = {name: HostUnreachable("refused", host=name) for name in ("b", "c")}
    observed = JobsSeen(STATE, {}, away)
    of_two = master("train-bbbb", '{"a":1,"b":1}')
    elastic = replace(of_two, labels={**of_two.labels, "hvdocker.elastic": "1:"})
    missing = [
        [error.host for error in missing_hosts(FoundJob("train-bbbb", observed, seen))]
        for seen in (of_two, elastic, None)
    ]
    assert missing == [["b"], ["b", "c"], ["b", "c"]]


def test_a_report_complains_of_missing_hosts(tmp_path: Path) -> None:
    whole = FetchReport("train-bbbb", tmp_path, FetchedFiles(tmp_path), False)
    whole.complain()
    with pytest.raises(HostUnreachable, match="refused"):
        replace(whole, missing=(HostUnreachable("refused", host="b"),)).complain()
