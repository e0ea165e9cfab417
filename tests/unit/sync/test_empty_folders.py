"""Empty folders of the code are there on hosts too, so that a script can write into them."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from hvdocker.doctor.facts.code_drift import see_code
from hvdocker.sync.sync import SyncReport, sync_host
from hvdocker.sync.walk import read_tree
from tests.unit.fakes import RecordingLink


@dataclass
class Code:
    """A code folder and its copy on a host."""

    here: Path
    there: Path
    link: RecordingLink

    def sync(self) -> SyncReport:
        return sync_host(self.link, read_tree(self.here), str(self.there))

    def write(self, name: str) -> Path:
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        return path

    def sends_nothing(self) -> bool:
        """Whether one more sync asks the host and sends nothing."""
        before = self.link.deliveries
        self.sync()
        return self.link.deliveries == before


@pytest.fixture
def code(tmp_path: Path) -> Code:
    made = Code(tmp_path / "here", tmp_path / "host" / "code", RecordingLink())
    made.write("train.py")
    return made


def test_a_script_can_write_into_a_folder_that_is_empty_here(code: Code) -> None:
    (code.here / "logs" / "deep").mkdir(parents=True)
    assert code.sync().sent == 1
    (code.there / "logs" / "deep" / "x").write_text("a job wrote this")
    assert (code.there / "logs" / "deep").stat().st_mode & 0o777 == 0o755
    assert code.sends_nothing()
    assert see_code(code.link, str(code.there)).files == 1
    assert see_code(code.link, str(code.there)).edited == ()


def test_a_folder_whose_files_are_all_ignored_is_an_empty_folder(code: Code) -> None:
    code.write("out/model.bin")
    (code.here / ".gitignore").write_text("out/*\n")
    code.sync()
    assert list((code.there / "out").iterdir()) == []


def test_a_folder_that_a_job_removed_is_made_again(code: Code) -> None:
    (code.here / "logs").mkdir()
    code.sync()
    (code.there / "logs").rmdir()
    code.sync()
    assert (code.there / "logs").is_dir()
    assert code.sends_nothing()


def test_a_folder_that_is_gone_here_goes_there_unless_a_job_wrote_into_it(code: Code) -> None:
    for name in ("logs/a", "logs/b", "other"):
        (code.here / name).mkdir(parents=True)
    code.sync()
    (code.there / "other" / "x").write_text("x")
    shutil.rmtree(code.here / "logs")
    (code.here / "other").rmdir()
    code.sync()
    assert not (code.there / "logs").exists()
    assert (code.there / "other" / "x").exists()
    assert code.sends_nothing()


def test_a_folder_that_loses_its_last_file_stays(code: Code) -> None:
    code.write("logs/old")
    code.sync()
    (code.here / "logs" / "old").unlink()
    assert code.sync().removed == 1
    assert list((code.there / "logs").iterdir()) == []
    code.write("logs/new")
    code.sync()
    assert [path.name for path in (code.there / "logs").iterdir()] == ["new"]


def test_a_file_becomes_an_empty_folder_and_a_file_again(code: Code) -> None:
    code.write("thing")
    code.sync()
    (code.here / "thing").unlink()
    (code.here / "thing").mkdir()
    code.sync()
    assert (code.there / "thing").is_dir()
    (code.here / "thing").rmdir()
    code.write("thing")
    code.sync()
    assert (code.there / "thing").read_text() == "x"
    assert code.sends_nothing()


def test_a_file_of_a_job_in_the_way_of_a_folder_is_kept_aside(code: Code) -> None:
    code.sync()
    (code.there / "logs").write_text("of a job")
    (code.here / "logs").mkdir()
    code.sync()
    assert (code.there / "logs").is_dir()
    (kept,) = (code.there.parent / "jobs" / ".replaced").glob("*/logs")
    assert kept.read_text() == "of a job"


def test_a_link_in_place_of_an_empty_folder_is_replaced(code: Code, tmp_path: Path) -> None:
    (code.here / "logs").mkdir()
    code.sync()
    (code.there / "logs").rmdir()
    (code.there / "logs").symlink_to(tmp_path)
    code.sync()
    assert not (code.there / "logs").is_symlink()
    assert (code.there / "logs").is_dir()


def test_equal_code_has_an_equal_hash_with_and_without_an_empty_folder(code: Code) -> None:
    """Git does not have empty folders, so code from git could never be recognised."""
    before = read_tree(code.here)
    (code.here / "logs").mkdir()
    assert read_tree(code.here).hash == before.hash
    assert read_tree(code.here).id() != before.id()


def test_an_emptied_folder_moves_no_file_of_the_same_name_aside(code: Code) -> None:
    code.write("data/raw/train/x")
    code.write("train")
    code.sync()
    (code.here / "data/raw/train/x").unlink()
    code.sync()
    assert (code.there / "train").read_text() == "x"
    assert (code.there / "data/raw/train").is_dir()
    assert list((code.there.parent / "jobs").rglob("*")) == []
