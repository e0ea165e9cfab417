"""Which hosts a job's files may be on, whether it has ended, and what a fetch complains of."""

from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.jobs.fetch import FetchReport, has_ended, missing_hosts
from hvdocker.jobs.lookup import FoundJob, JobsSeen
from hvdocker.jobs.results.merge import FetchedFiles
from tests.unit.builders import host_seen, master, state_of

STATE = state_of(
    host_seen("a", job_folders=("old-aaaa", "train-bbbb"), containers=(master("train-bbbb", "{}", created=1),)),
    host_seen("b", job_folders=("train-bbbb", "gone-cccc"), containers=(master("new-dddd", "{}", created=2),)),
)


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
    whole.raise_errors()
    with pytest.raises(HostUnreachable, match="refused"):
        replace(whole, missing=(HostUnreachable("refused", host="b"),)).raise_errors()


def test_a_report_complains_of_files_that_could_not_be_read(tmp_path: Path) -> None:
    fetched = FetchedFiles(tmp_path, ("a",), unread=["b: out/locked: permission denied"])
    with pytest.raises(HvdockerError, match="cannot be read") as caught:
        FetchReport("train-bbbb", tmp_path, fetched, False).raise_errors()
    assert caught.value.lines == ("b: out/locked: permission denied",)
