"""/out follows the newest job, but never leaves one that still runs."""

from pathlib import Path

from inside.rank.out_link import hold_live, is_live, point_out_to


def target(run: Path) -> str:
    return str((run / "out").readlink())


def test_the_link_follows_the_newest_job(tmp_path: Path) -> None:
    assert point_out_to("one", tmp_path)
    assert point_out_to("two", tmp_path)
    assert target(tmp_path) == f"{tmp_path}/jobs/two/out"


def test_the_link_stays_with_a_job_that_still_runs(tmp_path: Path) -> None:
    with hold_live("one", tmp_path):
        assert point_out_to("one", tmp_path)
        assert point_out_to("one", tmp_path)
        assert not point_out_to("two", tmp_path)
        assert target(tmp_path) == f"{tmp_path}/jobs/one/out"
    assert point_out_to("two", tmp_path)


def test_a_job_is_live_while_any_rank_of_it_is(tmp_path: Path) -> None:
    first, second = hold_live("one", tmp_path), hold_live("one", tmp_path)
    first.close()
    assert is_live("one", tmp_path)
    second.close()
    assert not is_live("one", tmp_path)
