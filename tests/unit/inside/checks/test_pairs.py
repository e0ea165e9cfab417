"""What a container finds out about its peers, over real sockets on loopback."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from inside.checks import listen, pairs, path_mtu
from inside.checks.check import main

IMAGE = Path(__file__).parents[4] / "images" / "doc-hvd"
HOME = "127.0.0.1"
TOKEN = "b4se32"

Json = dict[str, Any]  # Any: JSON


@pytest.fixture(scope="module")
def sockets() -> Iterator[listen.OpenSockets]:
    """Open, and served as long as the tests run."""
    opened = listen.open_sockets(HOME)
    threading.Thread(target=listen.serve, args=(opened, TOKEN, 600), daemon=True).start()
    yield opened
    for opened_socket in (*opened.tcp, opened.udp):
        opened_socket.close()


def as_peer(sockets: listen.OpenSockets, **changes: object) -> Json:
    description = listen.describe_sockets(HOME, sockets)
    return {
        "name": "b",
        "address": HOME,
        "token": TOKEN,
        "tcp": description["tcp"],
        "udp": description["udp"],
        "ssh": None,
    } | changes


def order(*peers: Json, **more: object) -> str:
    return json.dumps({"address": HOME, "timeout_s": 1, "peers": list(peers), **more})


def closed_port() -> int:
    """Nobody listens on a port that was given back a moment ago."""
    with socket.create_server((HOME, 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def sshd() -> Iterator[int]:
    """Says what an SSH server says first."""
    with socket.create_server((HOME, 0)) as server:

        def greet() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"SSH-2.0-test\r\n")

        threading.Thread(target=greet, daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def test_a_healthy_peer(sockets: listen.OpenSockets, sshd: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", order(as_peer(sockets, ssh={"port": sshd, "login": False}))]) == 0
    found = json.loads(capsys.readouterr().out)["b"]
    assert [one["problem"] for one in found["tcp"]] == [None] * 3
    assert found["ssh"] is None
    # The loopback takes packets of 64 KiB, one byte more than IP knows.
    assert found["mtu"] == {"link": 65536, "passed": 65535, "told": 65535}
    assert 0 < found["trip_s"] < 1


def test_ports_are_the_kernels_and_our_own_choice(sockets: listen.OpenSockets) -> None:
    ports = [listener.getsockname()[1] for listener in sockets.tcp]
    assert len(set(ports)) == 3
    assert all(20000 <= port <= 60000 for port in ports[1:])


def test_a_closed_port_is_refused_and_nothing_else_is_tried_on_it(
    sockets: listen.OpenSockets, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = closed_port()
    peer = as_peer(sockets, tcp=[gone], ssh={"port": gone, "login": True})
    assert main(["pairs", order(peer)]) == 0
    found = json.loads(capsys.readouterr().out)["b"]
    refused = {"kind": "refused", "words": "Connection refused"}
    assert found["tcp"] == [{"port": gone, "problem": refused}]
    assert found["ssh"] == refused
    assert found["trip_s"] is None


def test_a_server_that_is_not_ours_is_a_stranger(sockets: listen.OpenSockets, sshd: int) -> None:
    source = pairs.ProbeSource({"address": HOME, "timeout_s": 1})
    assert pairs.port_error(source, as_peer(sockets), sshd) == {
        "kind": "stranger",
        "words": "somebody else answers there",
    }
    port = sockets.tcp[0].getsockname()[1]
    # Our own listener says nothing to a client that does not know its token.
    wrong = pairs.port_error(source, as_peer(sockets, token="other"), port)
    assert wrong is not None and wrong["kind"] in ("stranger", "other")


def test_a_server_that_says_nothing_is_silent(sockets: listen.OpenSockets) -> None:
    source = pairs.ProbeSource({"address": HOME, "timeout_s": 0.1})
    with socket.create_server((HOME, 0)) as mute:
        found = pairs.port_error(source, as_peer(sockets), mute.getsockname()[1])
    assert found == {"kind": "silent", "words": "connected, then nothing came back for 0.1 s"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError("timed out"), "timeout"),
        (OSError(errno.EHOSTUNREACH, "x"), "unreachable"),
        (OSError(errno.ENETUNREACH, "x"), "unreachable"),
        (OSError(errno.EPERM, "x"), "own"),
        (OSError(errno.EADDRNOTAVAIL, "x"), "other"),
    ],
)
def test_the_kernels_errors_have_kinds(error: OSError, kind: str) -> None:
    found = pairs.os_error_problem(error, 3)
    assert found["kind"] == kind and found["words"]


def test_bandwidth_is_what_the_other_end_counted(
    sockets: listen.OpenSockets, capsys: pytest.CaptureFixture[str]
) -> None:
    argument = {"address": HOME, "timeout_s": 3, "seconds": 0.1, "peer": as_peer(sockets)}
    assert main(["bandwidth", json.dumps(argument)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bytes"] > 1 << 20 and found["seconds"] > 0
    argument["peer"] = as_peer(sockets, tcp=[closed_port()])
    assert main(["bandwidth", json.dumps(argument)]) == 0
    assert json.loads(capsys.readouterr().out) == {"error": "Connection refused"}


def test_where_datagrams_tell_nothing_a_stream_is_tried(sockets: listen.OpenSockets) -> None:
    source = pairs.ProbeSource({"address": HOME, "timeout_s": 1})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind((HOME, 0))
        found = pairs.probe_peer(source, as_peer(sockets, udp=mute.getsockname()[1]))
    assert found["mtu"] == {
        "link": 65536, "error": "no answer within 1 s", "number": errno.ETIMEDOUT, "bulk": None,
    }  # fmt: skip


@pytest.mark.parametrize("answer", [b"no JSON\n", b"5\n", b"\xff\n", b"[" * 100_000 + b"\n"])
def test_an_answer_that_is_malformed_is_told(answer: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server((HOME, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as heard:
                    is_echo = b"echo" in heard.readline()
                    data = heard.read(5 if is_echo else -1)
                    connection.sendall(data if is_echo else answer)

        threading.Thread(target=serve, daemon=True).start()
        port = server.getsockname()[1]
        peer = {"address": HOME, "token": TOKEN, "tcp": [port]}
        source = pairs.ProbeSource({"address": HOME, "timeout_s": 60})
        found = pairs.bulk_error(source, peer, {"tcp": [{"port": port, "problem": None}]})
        argument = {"address": HOME, "timeout_s": 60, "seconds": 0.01, "peer": peer}
        assert main(["bandwidth", json.dumps(argument)]) == 0
        server.shutdown(socket.SHUT_RDWR)
    assert found is not None and "the answer is malformed" in found
    assert json.loads(capsys.readouterr().out)["error"]


class Hole:
    """A peer that hears no datagram above a size: a path that swallows what is larger."""

    def __init__(self, limit: int) -> None:
        self.limit, self.sizes = limit, list[int]()
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((HOME, 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                data, sender = self.udp.recvfrom(1 << 16)
            except OSError:
                return
            size = len(data) + path_mtu.HEADERS
            self.sizes.append(size)
            if size <= self.limit:
                self.udp.sendto(b"%s %d" % (TOKEN.encode(), len(data)), sender)


@pytest.mark.parametrize(("link", "limit"), [(1500, 1200), (1500, 1499), (9000, 1500)])
def test_the_size_above_which_packets_vanish_is_found_exactly(
    monkeypatch: pytest.MonkeyPatch, link: int, limit: int
) -> None:
    monkeypatch.setattr(path_mtu, "PAUSE_S", 0.05)
    hole = Hole(limit)
    found = path_mtu.path_mtu((HOME, link), hole.udp.getsockname(), TOKEN, 1)
    hole.udp.close()
    assert found == {"passed": limit, "told": link}
    assert max(hole.sizes) == link


def test_a_refused_datagram_is_an_answer(sockets: listen.OpenSockets) -> None:
    found = path_mtu.path_mtu((HOME, 1500), (HOME, closed_port()), TOKEN, 1)
    assert found == {"error": "Connection refused", "number": errno.ECONNREFUSED}


def test_listening_goes_on_after_the_command_has_ended() -> None:
    """As the controller runs it: the output ends with the command, the listener with its time or a signal."""
    words = json.dumps({"address": HOME, "token": TOKEN, "seconds": 60, "sshd": None})
    program = "import sys; sys.path[:0] = sys.argv[1:2]; from inside.checks.check import main; main(sys.argv[2:])"
    command = [sys.executable, "-c", program, str(IMAGE / "lib"), "listen", words]
    answer = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=30).stdout)
    try:
        source = pairs.ProbeSource({"address": HOME, "timeout_s": 3})
        peer = {"address": HOME, "token": TOKEN}
        assert [pairs.port_error(source, peer, port) for port in answer["tcp"]] == [None] * 3
        assert (answer["interface"], answer["mtu"], answer["sshd"]) == ("lo", 65536, None)
    finally:
        os.kill(answer["pid"], signal.SIGTERM)


def test_an_address_that_is_not_here_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    words = json.dumps({"address": "192.0.2.1", "token": TOKEN, "seconds": 1})
    assert main(["listen", words]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "error": "cannot listen on 192.0.2.1: Cannot assign requested address"
    }
