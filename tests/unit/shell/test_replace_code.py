"""How a host that joins a running job gets the job's code, really run, in a folder of the test's own."""

import subprocess
from pathlib import Path

from hvdocker.shell import host_folders
from tests.unit.shell.test_host_folders import run


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def joined(head: Path, host: Path) -> subprocess.CompletedProcess[bytes]:
    packed = run(host_folders.pack_tar(str(head), host_folders.CODE_PATHS)).stdout
    return run(host_folders.replace_code(str(host)), packed)


def test_a_host_that_comes_back_to_a_running_job_finds_its_checkpoint_beside_the_script(tmp_path: Path) -> None:
    head, host = tmp_path / "head", tmp_path / "host"
    paths = {"code.sync/paths": "./train.py\0./old.py\0", "code.sync/index": "id digest\n[]\n"}
    write(head, {"code/train.py": "new", "code/same": "of head", "code/a/b": "of head", "code/c": "of head", **paths})
    write(host, {"code/train.py": "changed", "code/old.py": "changed", **paths})
    write(host, {"code/checkpoint-1.h5": "mine", "code/a/own": "mine", "code/same": "mine", "code/c/deep": "mine"})
    before = (host / "code" / "checkpoint-1.h5").stat().st_ctime_ns
    done = joined(head, host)
    assert (done.returncode, done.stderr) == (0, b"")
    of_head = {"train.py": "new", "same": "of head", "a/b": "of head", "c": "of head"}
    assert contents(host / "code") == {**of_head, "checkpoint-1.h5": "mine", "a/own": "mine"}
    # A new change time would give the file to another job.
    assert (host / "code" / "checkpoint-1.h5").stat().st_ctime_ns == before
    (kept,) = (host / "jobs" / ".replaced").iterdir()
    assert contents(kept) == {"train.py": "changed", "old.py": "changed", "same": "mine", "c/deep": "mine"}
    assert contents(host / "code.sync") == contents(head / "code.sync")


def test_a_file_of_a_job_where_the_new_code_has_a_folder_is_kept(tmp_path: Path) -> None:
    write(tmp_path / "head", {"code/logs/readme": "of head"})
    write(tmp_path / "host", {"code/logs": "mine"})
    assert joined(tmp_path / "head", tmp_path / "host").returncode == 0
    assert contents(tmp_path / "host" / "code") == {"logs/readme": "of head"}
    (kept,) = (tmp_path / "host" / "jobs" / ".replaced").iterdir()
    assert contents(kept) == {"logs": "mine"}


def test_code_that_breaks_off_on_its_way_changes_nothing_on_a_host_that_joins(tmp_path: Path) -> None:
    write(tmp_path / "head", {"code/train.py": "new" * 10000})
    write(tmp_path / "host", {"code/train.py": "old", "code.sync/paths": "./train.py\0"})
    packed = run(host_folders.pack_tar(str(tmp_path / "head"), host_folders.CODE_PATHS)).stdout
    assert run(host_folders.replace_code(str(tmp_path / "host")), packed[:5000]).returncode != 0
    assert contents(tmp_path / "host" / "code") == {"train.py": "old"}
