"""Files that the SSH user cannot read: root, then the engine, and at last their names."""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from hvdocker.errors import HvdockerError
from hvdocker.jobs.results.code_files import CodeFile
from hvdocker.jobs.results.fetch_files import fetch_job, read_code
from hvdocker.jobs.results.read_host import JobSource
from hvdocker.shell.command import Command
from hvdocker.transport.link import CommandResult
from hvdocker.transport.local_link import LocalLink
from tests.unit.fakes import FakeEngine
from tests.unit.jobs.results.two_hosts import JOB


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            tar.addfile(info, io.BytesIO(name.encode()))
    return buffer.getvalue()


class ClosedHost:
    """A host where tar cannot read some files as the SSH user, and perhaps as root."""

    name = "a"

    def __init__(self, readable: bytes, closed: bytes, as_root: bytes | None = None) -> None:
        self.readable, self.closed, self.as_root = readable, closed, as_root
        self.own = FakeEngine()

    def stream(self, command: Command, stdin: Iterable[bytes] | None = None) -> Iterator[bytes]:
        is_root = command.argv[0] == "sudo"
        if is_root and self.as_root is None:
            raise HvdockerError("a command failed (exit 1)", lines=["sudo: a password is required"])
        yield self.as_root if is_root and self.as_root else self.readable
        if not is_root:
            raise HvdockerError("a command failed (exit 2)", lines=["tar: out/locked: Cannot open"])

    def run(self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = 1) -> CommandResult:
        return CommandResult(command, 0, self.closed, b"")

    def engine(self) -> FakeEngine:
        return self.own


def texts(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name[0] != "."
    }


def source(host: ClosedHost, container: str | None = "worker", code: tuple[CodeFile, ...] = ()) -> JobSource:
    return JobSource(host, "/c/jobs/train-abcd", "/c", code, container)  # type: ignore[arg-type]  # a part of a link


def test_everything_readable_comes_home_and_the_rest_is_named(tmp_path: Path) -> None:
    host = ClosedHost(archive("out/fine"), b"out/locked\0")
    report = fetch_job(JOB, [source(host, None)], tmp_path)
    assert texts(tmp_path) == {"out/fine": "out/fine"}
    assert (report.unread, report.hosts) == (["a: out/locked: permission denied"], ())
    assert report.incomplete_error is not None


def test_root_reads_all_into_a_folder_of_its_own(tmp_path: Path) -> None:
    """A symlink of the first try would be in the way of the second."""
    link = io.BytesIO()
    with tarfile.open(fileobj=link, mode="w") as tar:
        info = tarfile.TarInfo("out/link")
        info.type, info.linkname = tarfile.SYMTYPE, "fine"
        tar.addfile(info)
    host = ClosedHost(link.getvalue(), b"out/c\0", as_root=archive("out/link", "out/c"))
    report = fetch_job(JOB, [source(host)], tmp_path)
    assert texts(tmp_path) == {"out/link": "out/link", "out/c": "out/c"}
    assert (report.unread, report.hosts) == ([], ("a",))


def test_without_sudo_the_engine_reads_what_is_left(tmp_path: Path) -> None:
    host = ClosedHost(archive("out/fine"), b"out/private\0out/deep/other\0")
    host.own.files[f"/run/hvdocker/jobs/{JOB}/out/private"] = b"of root"
    report = fetch_job(JOB, [source(host)], tmp_path)
    assert texts(tmp_path) == {"out/fine": "out/fine", "out/private": "of root"}
    assert len(report.unread) == 1 and report.unread[0].startswith("a: out/deep/other: permission denied, also")


def test_the_engine_reads_files_of_the_code_folder_and_those_that_a_sync_replaced(tmp_path: Path) -> None:
    host = ClosedHost(archive("out/fine"), b"code/model.h5\0jobs/.replaced/t1/old.h5\0")
    host.own.files = {
        f"/run/hvdocker/jobs/{JOB}/code/model.h5": b"",
        f"/run/hvdocker/jobs/{JOB}/jobs/.replaced/t1/old.h5": b"",
        "/train/model.h5": b"model",
        "/run/hvdocker/jobs/.replaced/t1/old.h5": b"old",
    }
    code = (CodeFile("code/model.h5", "code/model.h5"), CodeFile("jobs/.replaced/t1/old.h5", "code/old.h5"))
    only_code = JobSource(host, None, "/c", code, "worker")  # type: ignore[arg-type]  # a part of a link
    fetch_job(JOB, [only_code], tmp_path)
    assert {name: text for name, text in texts(tmp_path).items() if name.startswith("code")} == {
        "code/model.h5": "model",
        "code/old.h5": "old",
    }


def test_a_tar_that_fails_for_another_reason_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HvdockerError, match="exit 2"):
        fetch_job(JOB, [source(ClosedHost(archive("out/fine"), b""))], tmp_path)
    assert texts(tmp_path) == {}


def test_a_tar_that_fails_though_every_code_file_arrived_is_an_error(tmp_path: Path) -> None:
    """Tar fills a file that it cannot read, as on a bad disk, with zeros."""
    code = (CodeFile("code/model.h5", "code/model.h5"),)
    host = ClosedHost(archive("code/model.h5"), b"")
    only_code = JobSource(host, None, "/c", code, "worker")  # type: ignore[arg-type]  # a part of a link
    with pytest.raises(HvdockerError, match="exit 2"):
        fetch_job(JOB, [only_code], tmp_path)
    assert texts(tmp_path) == {}


class Cluster:
    """A cluster's folder on this machine, with a job."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("code", f"jobs/{JOB}/out", f"jobs/{JOB}/logs"):
            (root / folder).mkdir(parents=True)
        self.write(f"jobs/{JOB}/job.json")

    def write(self, name: str, text: str = "x") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def source(self) -> JobSource:
        link = LocalLink("a")
        left = read_code(link, str(self.root), ()).of(JOB)
        return JobSource(link, str(self.root / "jobs" / JOB), str(self.root), left)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "cluster")


def test_files_beside_the_script_come_home_without_caches(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("code/model.h5", "weights")
    cluster.write("code/check points/-1\n.h5", "first")
    cluster.write("code/pkg/__pycache__/m.pyc")
    cluster.write("code/.pytest_cache/x")
    (cluster.root / "code" / "latest").symlink_to("/train/model.h5")
    (cluster.root / "code" / "empty").mkdir()
    report = fetch_job(JOB, [cluster.source()], tmp_path / "home")
    home = tmp_path / "home" / "code"
    assert texts(home) == {"model.h5": "weights", "check points/-1\n.h5": "first", "latest": "weights"}
    assert (report.code_files, report.unread) == (3, [])
    assert (home / "latest").readlink() == Path("model.h5")


def test_a_file_that_a_running_job_removes_meanwhile_is_no_error(cluster: Cluster, tmp_path: Path) -> None:
    cluster.write("code/step-2.h5", "2")
    gone = cluster.write("code/step-1.h5")
    source = cluster.source()
    gone.unlink()
    report = fetch_job(JOB, [source], tmp_path / "home")
    assert texts(tmp_path / "home") == {"code/step-2.h5": "2"}
    assert (report.unread, report.hosts) == ([], ("a",))


def test_files_that_do_not_fit_here_are_not_begun(cluster: Cluster, tmp_path: Path) -> None:
    huge = CodeFile("code/huge", "code/huge", b"81a4/%d/now/now" % (1 << 60))
    with pytest.raises(HvdockerError, match="do not fit"):
        fetch_job(JOB, [JobSource(LocalLink("a"), None, str(cluster.root), (huge,))], tmp_path / "home")


def test_what_a_killed_fetch_left_is_removed_and_what_a_living_one_uses_stays(cluster: Cluster, tmp_path: Path) -> None:
    from hvdocker.locks.process_id import own_process_id

    home = tmp_path / "home"
    boot, space, _, start = own_process_id().split(" ")
    for name, owner in (("dead", f"{boot} {space} 4194305 {start}"), ("alive", own_process_id())):
        (home / f".fetching-{name}" / "x").mkdir(parents=True)
        (home / f".fetching-{name}" / "process").write_text(owner)
    fetch_job(JOB, [cluster.source()], home)
    assert [path.name for path in home.glob(".fetching-*")] == [".fetching-alive"]
