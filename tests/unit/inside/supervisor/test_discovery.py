"""The file of hosts that `up` writes."""

from pathlib import Path

import pytest
from inside.supervisor.discovery import HostsFile, discovered_text

from hvdocker.protocol.hosts_file import parse_hosts
from hvdocker.protocol.job_file import JobHost

TEXT = '{"hosts": [{"name": "a", "address": "198.18.0.2", "slots": 2}, {"name": "b", "address": "198.18.0.3"}]}'
JOB_HOSTS = (JobHost("a", "198.18.0.2", 2), JobHost("b", "198.18.0.3", 1))


def test_hosts_become_lines_of_addresses_and_slots() -> None:
    assert parse_hosts(TEXT) == JOB_HOSTS
    assert discovered_text(JOB_HOSTS) == "198.18.0.2:2\n198.18.0.3:1\n"


def test_the_file_is_read_only_when_it_is_new(tmp_path: Path) -> None:
    path = tmp_path / "hosts.json"
    file = HostsFile(path)
    assert file.read_if_new() is None
    path.write_text(TEXT)
    assert file.read_if_new() == JOB_HOSTS
    assert file.read_if_new() is None
    fresh = tmp_path / "fresh"
    fresh.write_text(TEXT)
    fresh.replace(path)
    assert file.read_if_new() == JOB_HOSTS


def test_a_file_that_could_not_be_read_is_tried_again_and_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(path: Path, encoding: str) -> str:
        raise OSError(5, "Input/output error")

    path = tmp_path / "hosts.json"
    path.write_text(TEXT)
    file = HostsFile(path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", fail)
        assert [file.read_if_new(), file.read_if_new()] == [None, None]
    assert capfd.readouterr().err.count("cannot read") == 1
    assert file.read_if_new() == JOB_HOSTS
