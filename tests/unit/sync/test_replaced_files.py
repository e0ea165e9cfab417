"""A sync replaces and removes files that a job has written, but destroys none of them."""

from pathlib import Path

import pytest

from hvdocker.sync.sync import SyncReport
from tests.unit.sync.test_sync import Pair


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def kept(pair: Pair) -> dict[str, str]:
    """Return the files that all syncs moved aside, with their contents."""
    folder = pair.there.parent / "jobs" / ".replaced"
    found = [path for path in folder.glob("*/**/*") if path.is_file() or path.is_symlink()]
    return {
        path.relative_to(folder).as_posix().partition("/")[2]: (
            f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        )
        for path in found
    }


def test_a_synced_file_that_a_job_overwrote_is_kept_when_it_is_replaced(pair: Pair) -> None:
    pair.write("history/log.json", "at home")
    pair.write("train.py")
    pair.sync()
    (pair.there / "history" / "log.json").write_text("of a job")
    assert pair.sync().kept == 1
    assert (pair.there / "history" / "log.json").read_text() == "at home"
    assert kept(pair) == {"history/log.json": "of a job"}


def test_a_file_of_a_job_is_kept_when_the_code_gets_a_file_of_its_name(pair: Pair) -> None:
    pair.write("train.py")
    pair.sync()
    (pair.there / "model.h5").write_text("weights")
    pair.write("model.h5", "older weights")
    assert pair.sync().kept == 1
    assert kept(pair) == {"model.h5": "weights"}


def test_a_synced_file_that_a_job_overwrote_is_kept_when_it_is_removed(pair: Pair) -> None:
    pair.write("train.py")
    gone = pair.write("log.txt", "at home")
    pair.sync()
    (pair.there / "log.txt").write_text("of a job")
    gone.unlink()
    report = pair.sync()
    assert (report.removed, report.kept) == (1, 1)
    assert pair.names() == ["train.py"] and kept(pair) == {"log.txt": "of a job"}


def test_each_version_is_kept(pair: Pair) -> None:
    pair.write("log.txt", "at home")
    pair.sync()
    for number in (1, 2):
        (pair.there / "log.txt").write_text(f"of job {number}")
        pair.sync()
    folders = (pair.there.parent / "jobs" / ".replaced").iterdir()
    assert {(folder / "log.txt").read_text() for folder in folders} == {"of job 1", "of job 2"}


def test_a_link_of_a_job_in_place_of_a_folder_is_kept_and_not_followed(pair: Pair, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("precious")
    pair.write("train.py")
    pair.sync()
    (pair.there / "pkg").symlink_to(outside)
    pair.write("pkg/a.py")
    pair.sync()
    assert kept(pair) == {"pkg": f"-> {outside}"} and (outside / "a.py").read_text() == "precious"


def test_a_name_with_a_newline_is_kept_too(pair: Pair) -> None:
    pair.write("new\nline.txt", "at home")
    pair.sync()
    (pair.there / "new\nline.txt").write_text("of a job")
    pair.sync()
    assert kept(pair) == {"new\nline.txt": "of a job"}


def test_code_that_no_job_touched_is_not_kept(pair: Pair) -> None:
    pair.write("train.py", "one")
    gone = pair.write("old.py")
    pair.sync()
    pair.write("train.py", "another")
    gone.unlink()
    report: SyncReport = pair.sync()
    assert (report.sent, report.removed, report.kept) == (1, 1, 0)
    assert kept(pair) == {}
