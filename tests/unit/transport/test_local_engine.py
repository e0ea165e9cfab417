"""The controller's own engine: chosen as the docker command chooses it, and never waited for long."""

import hashlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hvdocker.errors import HostUnfit
from hvdocker.transport import docker_api
from hvdocker.transport.local_engine import EngineAddress, engine_address, local_engine, open_local_engine


def write_context(home: Path, name: str, host: str) -> None:
    folder = home / ".docker" / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_context(tmp_path, "colima", "unix:///run/colima.sock")
    write_context(tmp_path, "far", "ssh://kim@far")
    return tmp_path


def test_the_usual_socket(home: Path) -> None:
    assert engine_address({}, home) == EngineAddress("unix:///var/run/docker.sock")


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({"DOCKER_HOST": "tcp://10.0.0.5:2375"}, "tcp://10.0.0.5:2375"),
        ({"DOCKER_HOST": "unix:///x.sock", "DOCKER_CONTEXT": "colima"}, "unix:///x.sock"),
        ({"DOCKER_CONTEXT": "colima"}, "unix:///run/colima.sock"),
        ({"DOCKER_CONTEXT": "default"}, "unix:///var/run/docker.sock"),
        ({}, "unix:///run/colima.sock"),
    ],
)
def test_as_the_docker_command_chooses(home: Path, environ: dict[str, str], url: str) -> None:
    (home / ".docker" / "config.json").write_text('{"currentContext": "colima"}')
    assert engine_address(environ, home).url == url


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"DOCKER_HOST": "ssh://nobody@10.0.0.5"}, "DOCKER_HOST is ssh://nobody@10.0.0.5"),
        ({"DOCKER_CONTEXT": "far"}, "the docker context far is ssh://kim@far"),
        ({"DOCKER_CONTEXT": "gone"}, "the docker context gone names no Docker engine"),
    ],
)
def test_an_engine_over_ssh_is_refused_in_words(
    home: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], said: str
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(HostUnfit) as caught:
        open_local_engine()
    assert said in caught.value.what and caught.value.fix
    assert local_engine().client is None and said in local_engine().problem


def test_certificates_that_are_missing_are_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    with pytest.raises(HostUnfit) as caught:
        open_local_engine()
    assert caught.value.lines and "DOCKER_CERT_PATH" in str(caught.value.fix)


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"


def test_an_engine_that_does_not_answer_is_not_waited_for_two_minutes(
    home: Path, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    """The limits are shortened; that they are those of the ping is what counts."""
    assert max(docker_api.LOCAL_TIMEOUTS_S) < docker_api.TIMEOUT_S
    monkeypatch.setattr(docker_api, "LOCAL_TIMEOUTS_S", (0.2, 0.2))
    monkeypatch.setenv("DOCKER_HOST", silent)
    with pytest.raises(HostUnfit, match=f"no Docker engine answers at {silent}, which DOCKER_HOST names"):
        open_local_engine()
