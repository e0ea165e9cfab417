import io
import tarfile

from hvdocker.engine import archive
from hvdocker.engine.file_spec import FileSpec
from tests.unit.fakes import FakeEngine


def members(data: bytes) -> dict[str, tuple[bool, int, int, int, str]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {
            entry.name: (entry.isdir(), entry.mode, entry.uid, entry.gid, _text(tar, entry))
            for entry in tar.getmembers()
        }


def _text(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> str:
    file = tar.extractfile(entry)
    return file.read().decode() if file else ""


def test_files_belong_to_the_containers_user_with_exactly_their_modes() -> None:
    engine = FakeEngine()
    wanted = [FileSpec("", None, 0o700), FileSpec("ssh", None, 0o700), FileSpec("ssh/config", "한국어\n")]
    archive.put_files(engine, "worker", wanted, 1000, 1001)
    [(container, folder, data)] = engine.put
    assert (container, folder) == ("worker", "/run")
    assert members(data) == {
        "hvdocker": (True, 0o700, 1000, 1001, ""),
        "hvdocker/ssh": (True, 0o700, 1000, 1001, ""),
        "hvdocker/ssh/config": (False, 0o600, 1000, 1001, "한국어\n"),
    }


def test_a_file_that_is_put_again_looks_changed() -> None:
    engine = FakeEngine()
    archive.put_files(engine, "master", [FileSpec("hosts.json", "{}")], 1000, 1001)
    [(_, _, data)] = engine.put
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert tar.getmember("hvdocker/hosts.json").mtime > 0


def test_a_container_is_furnished_by_one_archive_with_its_user_in_passwd() -> None:
    engine = FakeEngine()
    wanted = [FileSpec("", None, 0o700), FileSpec("ssh/config", "x\n")]
    archive.put_initial_files(engine, "worker", wanted, 1000, 1001, "root:x:0:0::/root:/bin/sh\n")
    [(container, folder, data)] = engine.put
    assert (container, folder) == ("worker", "/")
    assert members(data) == {
        "etc/passwd": (
            False, 0o644, 0, 0,
            "root:x:0:0::/root:/bin/sh\nhvd:x:1000:1001:hvdocker:/run/hvdocker/home:/bin/sh\n",
        ),
        "run/hvdocker": (True, 0o700, 1000, 1001, ""),
        "run/hvdocker/ssh/config": (False, 0o600, 1000, 1001, "x\n"),
    }  # fmt: skip


def test_root_is_in_passwd_already() -> None:
    engine = FakeEngine()
    archive.put_initial_files(engine, "worker", [FileSpec("", None, 0o700)], 0, 0, "")
    [(_, _, data)] = engine.put
    assert list(members(data)) == ["run/hvdocker"]


def test_reading_a_file_of_a_container() -> None:
    engine = FakeEngine({"/run/hvdocker/record.json": b'{"job": "x"}', "/empty": b""})
    assert archive.read_text(engine, "job", "/run/hvdocker/record.json") == '{"job": "x"}'
    assert archive.read_text(engine, "job", "/empty") == ""
    assert archive.read_text(engine, "job", "/not/there") is None


def test_secrets_are_readable_by_the_containers_user_only() -> None:
    engine = FakeEngine()
    archive.put_secrets(engine, "worker", "job-a", {"TOKEN": b"s3cr3t\n", "EMPTY": b""}, 1000, 1001)
    [(container, folder, data)] = engine.put
    assert (container, folder) == ("worker", "/run/hvdocker")
    assert members(data) == {
        "secrets": (True, 0o700, 1000, 1001, ""),
        "secrets/job-a": (True, 0o700, 1000, 1001, ""),
        "secrets/job-a/TOKEN": (False, 0o400, 1000, 1001, "s3cr3t\n"),
        "secrets/job-a/EMPTY": (False, 0o400, 1000, 1001, ""),
    }
