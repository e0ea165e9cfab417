"""Ranks that still run here, and the versions that they run with."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from inside.checks.wait_gone import is_alive, wait_gone
from inside.runtime import rank_registry
from inside.runtime.rank_registry import RankEntry, registered_ranks
from inside.supervisor.versions import installed_versions, python_version, versions_from_names


def rank_file(run: Path, rank: int, text: str) -> None:
    folder = run / "ranks" / "j"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{rank}.json").write_text(text)


def test_a_rank_is_gone_when_its_process_is(tmp_path: Path) -> None:
    process = subprocess.Popen(["sleep", "600"])
    rank_file(tmp_path, 0, json.dumps({"rank": 0, "pid": process.pid, "host": "a"}))
    assert not wait_gone("j", 0, tmp_path)
    process.kill()
    # Not waited for yet: what is left of it runs nothing.
    assert wait_gone("j", 60, tmp_path)
    process.wait()
    assert not is_alive(process.pid)


def test_a_process_with_a_name_that_is_not_utf8_is_alive(tmp_path: Path) -> None:
    program = tmp_path / os.fsdecode(b"\xff")
    program.symlink_to(shutil.which("sleep") or "")
    process = subprocess.Popen(["sleep", "600"], executable=program)
    try:
        assert is_alive(process.pid)
    finally:
        process.kill()
        process.wait()


def test_files_that_tell_nothing_are_no_ranks(tmp_path: Path) -> None:
    assert registered_ranks("j", tmp_path) == []
    for rank, text in enumerate(("", "[]", '{"pid": null}', '{"rank": 3, "pid": 7, "host": "a"}')):
        rank_file(tmp_path, rank, text)
    assert registered_ranks("j", tmp_path) == [RankEntry(3, 7, "a")]


def test_versions_are_found_by_the_names_of_folders(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("tensorflow_cpu-2.18.1", "horovod-0.28.1", "tf_keras-2.18.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    (packages / "horovod").mkdir()
    expected = {"horovod": "0.28.1", "tensorflow": "2.18.1", "tensorflow-cpu": "2.18.1", "tf-keras": "2.18.0"}
    launcher = tmp_path / "bin" / "horovodrun"
    assert installed_versions(launcher) == {"python": "3.11", **expected}
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n")
    assert installed_versions(launcher)["python"] == "3.11.2"


def test_the_newest_python_is_the_one_with_the_highest_number(tmp_path: Path) -> None:
    for name in ("python3.9", "python3.12"):
        (tmp_path / "lib" / name).mkdir(parents=True)
    assert python_version(tmp_path) == {"python": "3.12"}


def test_a_tensorflow_of_that_name_wins() -> None:
    names = ["tensorflow-2.15.1.dist-info", "tensorflow_cpu-2.18.1.dist-info", "odd.dist-info"]
    assert versions_from_names(names)["tensorflow"] == "2.15.1"


def test_a_rank_that_ends_late_leaves_its_successor_alone(tmp_path: Path) -> None:
    rank_registry.register_rank("j", RankEntry(0, 8, "a"), tmp_path)
    rank_registry.make_stacks_folder("j", 0, tmp_path)
    rank_registry.unregister_rank("j", 0, 7, tmp_path)
    assert registered_ranks("j", tmp_path) == [RankEntry(0, 8, "a")]
    rank_registry.unregister_rank("j", 0, 8, tmp_path)
    assert registered_ranks("j", tmp_path) == []
    assert not list((tmp_path / "stacks" / "j").iterdir())
