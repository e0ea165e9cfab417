"""Outputs come home: from this machine as two hosts, and from a host that lies."""

import io
import stat
import tarfile
from pathlib import Path

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.hosts.fetch import Fetched, fetch_job
from hvdocker.hosts.local import LocalLink
from tests.unit.fakes import FakeLink


class Lab:
    """Two hosts with a job's folder each, and a folder at home."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home" / "jobs" / "train-abcd"
        for host in "ab":
            for name in ("out", "logs"):
                (root / host / name).mkdir(parents=True)

    def write(self, host: str, name: str, text: str = "x") -> Path:
        path = self.root / host / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def fetch(self, hosts: str = "ab") -> Fetched:
        return fetch_job(
            [LocalLink(host) for host in hosts], [str(self.root / host) for host in hosts], self.home
        )

    def names(self) -> list[str]:
        return sorted(
            path.relative_to(self.home).as_posix() for path in self.home.rglob("*") if not path.is_dir()
        )


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_equal_files_come_once_and_clashes_side_by_side(lab: Lab) -> None:
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
    assert (lab.home / "out/deep/differs.txt.b").read_text() == "from b"
    assert report == Fetched(lab.home, files=5, bytes=4 + 1 + 1 + 6 + 6, clashes=["out/deep/differs.txt"])


def test_nothing_but_the_target_is_left_behind(lab: Lab) -> None:
    lab.write("a", "out/model.h5")
    lab.fetch("a")
    assert [path.name for path in lab.home.parent.iterdir()] == ["train-abcd"]


def test_fetching_again_brings_the_newest(lab: Lab) -> None:
    lab.write("a", "out/model.h5", "old")
    lab.fetch("a")
    lab.write("a", "out/model.h5", "new")
    (lab.home / "out" / "my notes.txt").write_text("mine")
    lab.fetch("a")
    assert (lab.home / "out/model.h5").read_text() == "new"
    assert lab.names() == ["out/model.h5", "out/my notes.txt"]


def test_empty_folders_symlinks_and_odd_names_come_too(lab: Lab) -> None:
    (lab.root / "a" / "out" / "empty").mkdir()
    lab.write("a", "out/new\nline 한국.txt")
    lab.write("a", "out/-rf")
    (lab.root / "a" / "out" / "latest").symlink_to("-rf")
    lab.fetch("a")
    assert (lab.home / "out" / "empty").is_dir()
    assert lab.names() == ["out/-rf", "out/latest", "out/new\nline 한국.txt"]
    assert (lab.home / "out/latest").readlink() == Path("-rf")


def test_modes_are_plain(lab: Lab) -> None:
    lab.write("a", "out/private.txt").chmod(0o600)
    lab.write("a", "out/tool").chmod(0o4755)
    lab.fetch("a")
    modes = {name: stat.S_IMODE((lab.home / "out" / name).stat().st_mode) for name in ("private.txt", "tool")}
    assert modes == {"private.txt": 0o644, "tool": 0o755}


def test_equal_symlinks_come_once_and_different_ones_clash(lab: Lab) -> None:
    for host in "ab":
        (lab.root / host / "out" / "same").symlink_to("x")
        (lab.root / host / "out" / "differs").symlink_to(host)
    assert lab.fetch().clashes == ["out/differs"]
    assert lab.names() == ["out/differs.a", "out/differs.b", "out/same"]


def test_a_file_on_one_host_and_a_folder_on_another_both_come_home(lab: Lab) -> None:
    lab.write("a", "out/result", "a file")
    lab.write("b", "out/result/part", "in a folder")
    lab.fetch()
    found = {path.read_text() for path in lab.home.rglob("*") if path.is_file()}
    assert found == {"a file", "in a folder"}


def test_a_host_without_the_jobs_folder_is_an_error(lab: Lab) -> None:
    with pytest.raises(HvdockerError):
        fetch_job([LocalLink("a")], [str(lab.root / "nowhere")], lab.home)
    assert list(lab.home.rglob("*")) == []


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


def from_a_liar(tmp_path: Path, archive: bytes) -> Path:
    home = tmp_path / "home" / "jobs" / "train-abcd"
    fetch_job([FakeLink("evil", streamed=archive)], ["/job"], home)
    return home


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


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
    home = from_a_liar(tmp_path, packed(("out/evil", target, ""), ("out/fine", None, "ok")))
    assert everything(home) == {"out", "out/fine"}


def test_a_file_cannot_be_written_through_a_chain_of_symlinks(tmp_path: Path) -> None:
    """Each link looks harmless by itself; together they lead out."""
    archive = packed(("out/up", "..", ""), ("out/out", "up/..", ""), ("out/out/evil", None, "evil"))
    with pytest.raises(HvdockerError):
        from_a_liar(tmp_path, archive)
    assert everything(tmp_path) == AT_HOME


def test_devices_and_hard_links_are_left_out(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind in (
            ("out/device", tarfile.CHRTYPE),
            ("out/pipe", tarfile.FIFOTYPE),
            ("out/hard", tarfile.LNKTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd" if kind == tarfile.LNKTYPE else ""
            tar.addfile(info)
    assert everything(from_a_liar(tmp_path, buffer.getvalue())) == set()


@pytest.mark.parametrize(
    "archive", [b"", b"this is no archive" * 100, packed(("out/x", None, "x" * 9000))[:3000]]
)
def test_a_broken_archive_brings_nothing_half(tmp_path: Path, archive: bytes) -> None:
    with pytest.raises(HvdockerError, match="arrived damaged"):
        from_a_liar(tmp_path, archive)
    assert everything(tmp_path) == AT_HOME


def test_a_name_from_a_host_may_be_absurdly_deep(tmp_path: Path) -> None:
    name = "out/" + "/".join("d" * 10 for _ in range(30)) + "/f"
    assert name in everything(from_a_liar(tmp_path, packed((name, None, "x"))))
