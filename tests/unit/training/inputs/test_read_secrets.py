"""Secrets are read before any host is touched, and wrong ones refused."""

import os
import threading
from pathlib import Path

import pytest

from hvdocker.errors import UsageProblem
from hvdocker.secret import SecretSource
from hvdocker.training.inputs.read_secrets import MOST_BYTES, read_secret, with_absolute_path


def read(cwd: Path, name: str, path: str | None = None, **environ: str) -> bytes:
    return read_secret(cwd, SecretSource(name, path), environ).reveal()


def test_from_the_callers_environment_byte_for_byte(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9 \xff\n")
    assert read(tmp_path, "TOKEN", TOKEN=odd) == b"caf\xe9 \xff\n"


def test_from_a_file_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(b"\x00\xff line\r\nline\n")
    assert read(tmp_path, "KEY", "key.pem") == b"\x00\xff line\r\nline\n"
    assert with_absolute_path(tmp_path, SecretSource("KEY", "key.pem")).path == str(tmp_path / "key.pem")
    assert with_absolute_path(tmp_path, SecretSource("KEY")) == SecretSource("KEY")


def test_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"s3cr3t"))
    writer.start()
    assert read(tmp_path, "KEY", "pipe") == b"s3cr3t"
    writer.join()


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "blank").write_text(" \n")
    (tmp_path / "large").write_bytes(b"x" * (MOST_BYTES + 1))
    (tmp_path / "largest").write_bytes(b"x" * MOST_BYTES)
    for path, what in (
        ("empty", "the value is empty"),
        ("blank", "the value is empty"),
        ("large", "larger than 1 MB"),
        ("none", "none cannot be read: No such file or directory"),
        (".", "cannot be read: Is a directory"),
        ("~nobody-of-that-name/x", "there is no user nobody-of-that-name here"),
    ):
        with pytest.raises(UsageProblem, match=what) as caught:
            read(tmp_path, "KEY", path)
        assert caught.value.what.startswith(("--secret KEY: ", "~nobody"))
    assert len(read(tmp_path, "KEY", "largest")) == MOST_BYTES
    for environ, what in (
        ({}, "there is no such variable here"),
        ({"KEY": ""}, "the value is empty"),
        ({"KEY": "abc"}, "too short to be masked"),
        ({"KEY": "abc\ndef\n"}, "too short to be masked"),
    ):
        with pytest.raises(UsageProblem, match=what) as caught:
            read(tmp_path, "KEY", None, **environ)
        assert "abc" not in f"{caught.value.what} {caught.value.fix}"
