"""Outputs come home: from this machine as two hosts, and from a host that lies."""

import io
import stat
import tarfile
from pathlib import Path

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.jobs.results.fetch_files import fetch_job
from hvdocker.jobs.results.merge import MANIFEST, FetchedFiles
from hvdocker.jobs.results.read_host import JobSource
from hvdocker.transport.local_link import LocalLink
from tests.unit.fakes import FakeLink
from tests.unit.jobs.results.two_hosts import JOB, TwoHosts


@pytest.fixture
def lab(tmp_path: Path) -> TwoHosts:
    return TwoHosts(tmp_path)


def test_equal_files_come_once_and_clashes_side_by_side(lab: TwoHosts) -> None:
    for host in "ab":
        lab.write(host, "out/equal.txt", "same")
        lab.write(host, "out/deep/differs.txt", f"from {host}")
    lab.write("a", "out/only-a.txt", "a")
    lab.write("b", "logs/rank1.log", "b")
    report = lab.fetch()
    assert lab.names() == [
        "logs/rank1.log",
        "out/deep/differs.txt.a",
        "out/deep/differs.txt.b",
        "out/equal.txt",
        "out/only-a.txt",
    ]
    assert (lab.local_folder / "out/deep/differs.txt.b").read_text() == "from b"
    assert report == FetchedFiles(
        lab.local_folder, ("a", "b"), files=5, bytes=4 + 1 + 1 + 6 + 6, clashes=["out/deep/differs.txt"]
    )


def test_nothing_but_the_target_is_left_behind(lab: TwoHosts) -> None:
    lab.write("a", "out/model.h5")
    lab.fetch("a")
    assert [path.name for path in lab.local_folder.parent.iterdir()] == [JOB]
    assert sorted(path.name for path in lab.local_folder.iterdir()) == [MANIFEST, "logs", "out"]


def test_fetching_again_brings_the_newest(lab: TwoHosts) -> None:
    lab.write("a", "out/model.h5", "old")
    lab.fetch("a")
    lab.write("a", "out/model.h5", "new")
    (lab.local_folder / "out" / "my notes.txt").write_text("mine")
    lab.fetch("a")
    assert (lab.local_folder / "out/model.h5").read_text() == "new"
    assert lab.names() == ["out/model.h5", "out/my notes.txt"]


def test_empty_folders_symlinks_and_odd_names_come_too(lab: TwoHosts) -> None:
    (lab.root / "a" / "out" / "empty").mkdir()
    lab.write("a", "out/new\nline 한국.txt")
    lab.write("a", "out/-rf")
    (lab.root / "a" / "out" / "latest").symlink_to("-rf")
    lab.fetch("a")
    assert (lab.local_folder / "out" / "empty").is_dir()
    assert lab.names() == ["out/-rf", "out/latest", "out/new\nline 한국.txt"]
    assert (lab.local_folder / "out/latest").readlink() == Path("-rf")


def test_modes_are_plain(lab: TwoHosts) -> None:
    lab.write("a", "out/private.txt").chmod(0o600)
    lab.write("a", "out/tool").chmod(0o4755)
    lab.fetch("a")
    modes = {name: stat.S_IMODE((lab.local_folder / "out" / name).stat().st_mode) for name in ("private.txt", "tool")}
    assert modes == {"private.txt": 0o644, "tool": 0o755}


def test_equal_symlinks_come_once_and_different_ones_clash(lab: TwoHosts) -> None:
    for host in "ab":
        (lab.root / host / "out" / "same").symlink_to("x")
        (lab.root / host / "out" / "differs").symlink_to(host)
    assert lab.fetch().clashes == ["out/differs"]
    assert lab.names() == ["out/differs.a", "out/differs.b", "out/same"]


def test_a_file_on_one_host_and_a_folder_on_another_both_come_home(lab: TwoHosts) -> None:
    lab.write("a", "out/result", "a file")
    lab.write("b", "out/result/part", "in a folder")
    lab.fetch()
    assert set(lab.texts().values()) == {"a file", "in a folder"}


def test_a_host_without_the_jobs_folder_is_an_error(lab: TwoHosts) -> None:
    with pytest.raises(HvdockerError):
        fetch_job(JOB, [JobSource(LocalLink("a"), str(lab.root / "nowhere"))], lab.local_folder)
    assert list(lab.local_folder.rglob("*")) == []


def packed(*members: tuple[str, str | None, str]) -> bytes:
    """Members as (name, link target or None, content); whatever they are called."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, target, text in members:
            info = tarfile.TarInfo(name)
            if target is not None:
                info.type, info.linkname = tarfile.SYMTYPE, target
                tar.addfile(info)
            else:
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def from_a_liar(tmp_path: Path, archive: bytes) -> FetchedFiles:
    home = tmp_path / "home" / "jobs" / "train-abcd"
    return fetch_job(JOB, [JobSource(FakeLink("evil", streamed=archive), "/job")], home)


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.name != MANIFEST}


AT_HOME = {"home", "home/jobs", "home/jobs/train-abcd"}


@pytest.mark.parametrize("name", ["../evil", "out/../../evil", "out/../../../home/evil"])
def test_a_member_that_climbs_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(HvdockerError, match="refused to write") as caught:
        from_a_liar(tmp_path, packed(("out/fine", None, "ok"), (name, None, "evil")))
    assert caught.value.host == "evil"
    assert everything(tmp_path) == AT_HOME


def test_an_absolute_member_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "absolute"
    with pytest.raises(HvdockerError, match="refused to write"):
        from_a_liar(tmp_path, packed((str(target), None, "evil")))
    assert not target.exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../../outside", "../..", "../x/../../.."])
def test_a_symlink_that_points_outside_is_not_made(tmp_path: Path, target: str) -> None:
    report = from_a_liar(tmp_path, packed(("out/evil", target, ""), ("out/fine", None, "ok")))
    assert everything(report.folder) == {"out", "out/fine"}
    assert report.skipped == ["evil: out/evil: a link to something outside"]


def test_a_file_cannot_be_written_through_a_chain_of_symlinks(tmp_path: Path) -> None:
    """Each link looks harmless by itself; together they lead out."""
    archive = packed(("out/up", "..", ""), ("out/out", "up/..", ""), ("out/out/evil", None, "evil"))
    with pytest.raises(HvdockerError):
        from_a_liar(tmp_path, archive)
    assert everything(tmp_path) == AT_HOME


def special(*members: tuple[str, bytes, str]) -> bytes:
    """Members as (name, type, link target)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            tar.addfile(info)
    return buffer.getvalue()


def test_devices_and_hard_links_to_the_outside_are_left_out_and_named(tmp_path: Path) -> None:
    report = from_a_liar(
        tmp_path,
        special(
            ("out/device", tarfile.CHRTYPE, ""),
            ("out/pipe", tarfile.FIFOTYPE, ""),
            ("out/hard", tarfile.LNKTYPE, "/etc/passwd"),
            ("out/climbing", tarfile.LNKTYPE, "../../secret"),
        ),
    )
    assert everything(report.folder) == set()
    assert report.skipped == [
        "evil: out/device: neither a file nor a folder nor a link",
        "evil: out/pipe: neither a file nor a folder nor a link",
        "evil: out/hard: a link to something outside",
        "evil: out/climbing: a link to something outside",
    ]


def test_a_checkpoint_that_is_a_hard_link_comes_home(lab: TwoHosts) -> None:
    path = lab.write("a", "out/model-1.h5", "weights")
    (lab.root / "a" / "out" / "model-latest.h5").hardlink_to(path)
    report = lab.fetch("a")
    assert lab.texts() == {"out/model-1.h5": "weights", "out/model-latest.h5": "weights"}
    assert report.skipped == []


def test_a_link_by_its_path_in_the_container_works_at_home(lab: TwoHosts) -> None:
    lab.write("a", "out/model.h5", "weights")
    tops = {"out": "/out", "run": "/run/hvdocker/out", "jobs": f"/run/hvdocker/jobs/{JOB}/out"}
    for name, top in tops.items():
        lab.write("a", f"out/deep/{name}").unlink()
        (lab.root / "a" / "out" / "deep" / name).symlink_to(f"{top}/model.h5")
    (lab.root / "a" / "out" / "top").symlink_to("/out")
    assert lab.fetch("a").skipped == []
    for name in tops:
        assert (lab.local_folder / "out" / "deep" / name).read_text() == "weights"
    assert (lab.local_folder / "out" / "top" / "model.h5").read_text() == "weights"


@pytest.mark.parametrize("target", ["/data/set", "/outside", "/out/../../etc", "../../x"])
def test_a_link_to_the_outside_is_told_not_silently_lost(lab: TwoHosts, target: str) -> None:
    lab.write("a", "out/model.h5")
    (lab.root / "a" / "out" / "link").symlink_to(target)
    report = lab.fetch("a")
    assert lab.names() == ["out/model.h5"]
    assert report.skipped == ["a: out/link: a link to something outside"]


@pytest.mark.parametrize("archive", [b"", b"this is no archive" * 100, packed(("out/x", None, "x" * 9000))[:3000]])
def test_a_broken_archive_brings_nothing_half(tmp_path: Path, archive: bytes) -> None:
    with pytest.raises(HvdockerError, match="arrived damaged"):
        from_a_liar(tmp_path, archive)
    assert everything(tmp_path) == AT_HOME


def test_a_name_from_a_host_may_be_absurdly_deep(tmp_path: Path) -> None:
    name = "out/" + "/".join("d" * 10 for _ in range(30)) + "/f"
    assert name in everything(from_a_liar(tmp_path, packed((name, None, "x"))).folder)
