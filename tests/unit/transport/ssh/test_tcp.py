"""The socket under a connection, as it is tuned here and where options are missing. No network: sockets are
Unix ones, or only take notes."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hvdocker.transport.ssh import tcp as wire

TUNED = {
    "TCP_NODELAY": 1, "TCP_QUICKACK": 1, "TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 20_000,
}  # fmt: skip
# As macOS numbers it; Linux has no option of this name.
MACOS_KEEPALIVE = 0x10


class Notes:
    """Takes every option, but for those that its kernel does not know."""

    def __init__(self, unknown: int | None = None) -> None:
        self.unknown = unknown
        self.options: dict[tuple[int, int], int] = {}

    def setsockopt(self, level: int, option: int, value: int) -> None:
        if (level, option) == (socket.IPPROTO_TCP, self.unknown):
            raise OSError("Protocol not available")
        self.options[level, option] = value


def tuned(notes: Notes) -> dict[tuple[int, int], int]:
    wire._tune(notes)
    return notes.options


def expected(**options: int) -> dict[tuple[int, int], int]:
    tcp = {(socket.IPPROTO_TCP, getattr(socket, name)): value for name, value in options.items()}
    return {(socket.SOL_SOCKET, socket.SO_KEEPALIVE): 1, **tcp}


def test_all_options_where_they_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names for one thing are not both used."""
    monkeypatch.setattr(socket, "TCP_KEEPALIVE", MACOS_KEEPALIVE, raising=False)
    assert tuned(Notes()) == expected(**TUNED)


def test_macos_has_another_name_for_the_time_before_keep_alives(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TCP_KEEPIDLE", "TCP_USER_TIMEOUT", "TCP_QUICKACK"):
        monkeypatch.delattr(socket, name)
    monkeypatch.setattr(socket, "TCP_KEEPALIVE", MACOS_KEEPALIVE, raising=False)
    assert tuned(Notes()) == expected(TCP_NODELAY=1, TCP_KEEPALIVE=5, TCP_KEEPINTVL=5, TCP_KEEPCNT=3)


def test_what_nobody_knows_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TUNED:
        monkeypatch.delattr(socket, name)
    monkeypatch.delattr(socket, "TCP_KEEPALIVE", raising=False)
    assert tuned(Notes()) == expected()


def test_what_the_kernel_refuses_is_left_out() -> None:
    rest = {name: value for name, value in TUNED.items() if name != "TCP_USER_TIMEOUT"}
    assert tuned(Notes(unknown=socket.TCP_USER_TIMEOUT)) == expected(**rest)


class Noted(wire.QuickSocket):
    def setsockopt(self, *option: int) -> None:
        self.noted = option


def test_a_read_asks_again_for_quick_acknowledgements() -> None:
    here, there = socket.socketpair()
    with there, Noted(here.family, here.type, here.proto, here.detach()) as quick:
        there.sendall(b"SSH-2.0")
        assert quick.recv(3) == b"SSH"
        assert quick.noted == (socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


def test_a_read_needs_no_such_option() -> None:
    """A Unix socket refuses it."""
    here, there = socket.socketpair()
    with there, wire.QuickSocket(here.family, here.type, here.proto, here.detach()) as quick:
        there.sendall(b"SSH-2.0")
        assert quick.recv(100) == b"SSH-2.0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Path]:
    """Greets one visitor."""
    path = tmp_path / "server"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(10)

        def greet() -> None:
            with contextlib.suppress(OSError):
                visitor, _ = listener.accept()
                visitor.sendall(b"hello")
                visitor.close()

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def resolves_to(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    found = [(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", str(path)) for path in paths]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)


def test_every_address_of_a_host_is_tried(monkeypatch: pytest.MonkeyPatch, server: Path, tmp_path: Path) -> None:
    resolves_to(monkeypatch, tmp_path / "nobody", server)
    with wire.connect("gpu-a", 22, 10.0) as connected:
        assert connected.recv(5) == b"hello" and connected.gettimeout() == 10.0


def test_the_last_address_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    resolves_to(monkeypatch, tmp_path / "nobody", tmp_path / "file")
    with pytest.raises(ConnectionRefusedError):
        wire.connect("gpu-a", 22, 10.0)


@pytest.mark.parametrize("name", ["a..b", "a" * 64, f"x.{'a' * 64}.de"])
def test_a_name_that_no_host_can_have_does_not_resolve(name: str) -> None:
    with pytest.raises(socket.gaierror, match="has more than 63 characters"):
        wire.connect(name, 22, 1)


def test_a_host_without_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    resolves_to(monkeypatch)
    with pytest.raises(OSError, match="no address found for gpu-a"):
        wire.connect("gpu-a", 22, 10.0)
