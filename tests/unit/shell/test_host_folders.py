"""The scripts that touch a host's files, really run, in a folder of the test's own."""

import io
import os
import stat
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from hvdocker.shell import host_folders
from hvdocker.shell.command import Command


def run(command: Command, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command.argv, input=stdin, capture_output=True, check=False)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_folders_are_their_owners_only(tmp_path: Path) -> None:
    root = tmp_path / ".hvdocker" / "my lab"
    assert run(host_folders.make_folders(str(root), [f"{root}/code", f"{root}/jobs"])).returncode == 0
    assert [mode(root / name) for name in ("code", "jobs")] == [0o700, 0o700]
    assert mode(root) == mode(root.parent) == 0o700


def test_the_members_are_written_with_the_folders(tmp_path: Path) -> None:
    root = tmp_path / ".hvdocker" / "lab"
    assert run(host_folders.make_folders(str(root), [f"{root}/code"], members="a=10.0.0.11 b=fd00::1")).returncode == 0
    assert (root / "members").read_text() == "a=10.0.0.11 b=fd00::1\n" and mode(root / "members") == 0o600


def test_shared_folders_are_open_below_a_private_one(tmp_path: Path) -> None:
    root = tmp_path / ".hvdocker" / "lab"
    assert run(host_folders.make_folders(str(root), [f"{root}/code", f"{root}/jobs"], is_shared=True)).returncode == 0
    assert [mode(root / name) for name in ("code", "jobs")] == [0o777, 0o777]
    assert mode(root) == mode(root.parent) == 0o700


def test_making_folders_twice_is_fine_and_keeps_what_is_in_them(tmp_path: Path) -> None:
    for _ in range(2):
        assert run(host_folders.make_folders(str(tmp_path), [f"{tmp_path}/code"])).returncode == 0
        (tmp_path / "code" / "kept").touch()
    assert (tmp_path / "code" / "kept").exists()


def highest_new(root: Path, *paths: str) -> str | None:
    made = run(host_folders.make_folders(str(root), [f"{root}/code", *paths]))
    return host_folders.highest_new_folder(made.stdout.decode())


def test_the_highest_new_folder_is_said_also_when_making_it_fails(tmp_path: Path) -> None:
    root = tmp_path / ".hvdocker" / "my lab"
    assert highest_new(root, "/proc/no") == f"{tmp_path}/.hvdocker"
    assert highest_new(root) is None
    assert highest_new(root / "jobs" / "a") == f"{root}/jobs"
    assert highest_new(root / "jobs" / "b") == f"{root}/jobs/b"


def test_an_undo_removes_new_folders_and_no_folder_that_was_there(tmp_path: Path) -> None:
    jobs = tmp_path / ".hvdocker" / "lab" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "new" / "a" / "out").mkdir(parents=True)
    assert run(host_folders.remove_new_folders(f"{jobs}/new/a", f"{jobs}/new")).returncode == 0
    assert jobs.is_dir() and list(jobs.iterdir()) == []


def test_an_undo_leaves_what_others_put_beside(tmp_path: Path) -> None:
    for name in ("lab", "other"):
        (tmp_path / ".hvdocker" / name).mkdir(parents=True)
    ours = f"{tmp_path}/.hvdocker"
    assert run(host_folders.remove_new_folders(f"{ours}/lab", ours)).returncode == 0
    assert [path.name for path in Path(ours).iterdir()] == ["other"]


def test_a_file_in_the_way_of_a_folder_fails(tmp_path: Path) -> None:
    (tmp_path / "code").touch()
    assert run(host_folders.make_folders(str(tmp_path), [f"{tmp_path}/code"])).returncode != 0


def test_removing_a_tree_takes_its_empty_parents_of_ours(tmp_path: Path) -> None:
    cluster = tmp_path / ".hvdocker" / "lab" / "w1"
    (cluster / "code" / "deep").mkdir(parents=True)
    (cluster / "code" / "deep" / "x.py").touch()
    assert run(host_folders.remove_tree(str(cluster))).returncode == 0
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.is_dir()


def test_removing_a_tree_leaves_a_neighbour_alone(tmp_path: Path) -> None:
    ours = tmp_path / ".hvdocker"
    for name in ("lab", "other"):
        (ours / name).mkdir(parents=True)
    assert run(host_folders.remove_tree(str(ours / "lab"))).returncode == 0
    assert [path.name for path in ours.iterdir()] == ["other"]


def test_removing_a_tree_never_goes_above_our_folder(tmp_path: Path) -> None:
    home = tmp_path / "empty home"
    (home / ".hvdocker" / "lab").mkdir(parents=True)
    assert run(host_folders.remove_tree(f"{home}/.hvdocker/lab")).returncode == 0
    assert home.is_dir() and list(home.iterdir()) == []


def test_removing_a_tree_elsewhere_takes_no_parents(tmp_path: Path) -> None:
    (tmp_path / "plain" / "folder").mkdir(parents=True)
    assert run(host_folders.remove_tree(f"{tmp_path}/plain/folder")).returncode == 0
    assert (tmp_path / "plain").is_dir()


def test_removing_what_is_not_there_is_fine(tmp_path: Path) -> None:
    assert run(host_folders.remove_tree(f"{tmp_path}/.hvdocker/lab")).returncode == 0


def test_a_written_file_is_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text("old")
    assert run(host_folders.write_file(str(path)), b"new\n").returncode == 0
    assert path.read_bytes() == b"new\n"
    assert mode(path) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["job.json"]


def test_a_shared_file_is_readable_by_all(tmp_path: Path) -> None:
    assert run(host_folders.write_file(f"{tmp_path}/job.json", is_shared=True), b"x").returncode == 0
    assert mode(tmp_path / "job.json") == 0o644


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text("old")
    (tmp_path / "job.json.part").mkdir()
    assert run(host_folders.write_file(str(path)), b"new").returncode != 0
    assert path.read_text() == "old"


def test_packing_and_unpacking(tmp_path: Path) -> None:
    source = tmp_path / "job"
    for name in ("out", "logs"):
        (source / name).mkdir(parents=True)
        (source / name / "file").write_text(name)
    packed = run(host_folders.pack_tar(str(source), ["out", "logs"]))
    assert packed.returncode == 0
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
        assert sorted(tar.getnames()) == ["logs", "logs/file", "out", "out/file"]
    target = tmp_path / "some" / "where"
    assert run(host_folders.unpack_tar(str(target)), packed.stdout).returncode == 0
    assert (target / "logs" / "file").read_text() == "logs"


def test_packing_takes_those_of_the_names_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    packed = run(host_folders.pack_tar(str(tmp_path), ["out", "logs"]))
    assert packed.returncode == 0
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
        assert tar.getnames() == ["logs"]


def test_packing_where_a_job_wrote_nothing_is_an_empty_archive(tmp_path: Path) -> None:
    packed = run(host_folders.pack_tar(str(tmp_path), ["out", "logs"]))
    assert (packed.returncode, packed.stderr) == (0, b"")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
        assert tar.getnames() == []


def test_packing_a_folder_that_is_not_there_fails(tmp_path: Path) -> None:
    assert run(host_folders.pack_tar(f"{tmp_path}/gone", ["out"])).returncode != 0


@pytest.mark.parametrize(
    ("version", "said", "code"),
    [("tar (GNU tar) 1.35", 1, 0), ("bsdtar 3.7", 1, 1), ("tar (GNU tar) 1.35", 2, 2), ("", 0, 0)],
    ids=["a file changed", "another tar", "a real failure", "fine"],
)
def test_a_running_jobs_folder_can_be_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, said: int, code: int
) -> None:
    """GNU tar exits with 1 where a file changed as it was read: the archive is whole all the same."""
    stand_in = tmp_path / "bin" / "tar"
    stand_in.parent.mkdir()
    stand_in.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "{version}"; exit 0; }}\necho archive\nexit {said}\n'
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(stand_in.parent), prepend=":")
    (tmp_path / "out").mkdir()
    packed = run(host_folders.pack_tar(str(tmp_path), ["out"]))
    assert (packed.returncode, packed.stdout) == (code, b"archive\n")


def test_members_are_written_also_where_the_folder_is_gone(tmp_path: Path) -> None:
    for text in (b"a=10.0.0.11 b=10.0.0.12\n", b"a=10.0.0.11\n"):
        assert run(host_folders.write_members(f"{tmp_path}/.hvdocker/lab"), text).returncode == 0
        assert (tmp_path / ".hvdocker" / "lab" / "members").read_bytes() == text
    assert [path.name for path in (tmp_path / ".hvdocker" / "lab").iterdir()] == ["members"]


def test_code_of_another_host_is_open_where_a_container_of_another_user_reads_it(tmp_path: Path) -> None:
    for name, is_shared in (("own", False), ("open", True)):
        (tmp_path / "head" / "code").mkdir(parents=True, exist_ok=True)
        (tmp_path / "head" / "code" / "x.py").touch(0o600)
        packed = run(host_folders.pack_tar(str(tmp_path / "head"), host_folders.CODE_PATHS)).stdout
        (tmp_path / name).mkdir()
        run(host_folders.replace_code(str(tmp_path / name), is_shared), packed)
    assert [mode(tmp_path / name / "code" / "x.py") for name in ("own", "open")] == [0o600, 0o644]


def test_a_link_to_a_closed_folder_is_readable_and_the_folder_is_not() -> None:
    # Root reads everything, so somebody else has to look, in a folder that is open to all.
    looker = {"user": 65534} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "out" / "closed").mkdir(parents=True)
        (root / "out" / "latest").symlink_to("closed")
        (root / "out" / "dangling").symlink_to("nothing")
        (root / "out" / "closed").chmod(0)
        argv = host_folders.list_unreadable(name, ["out"]).argv
        found = subprocess.run(argv, capture_output=True, check=True, **looker).stdout
        (root / "out" / "closed").chmod(0o700)
    assert found == b"out/closed\0"
