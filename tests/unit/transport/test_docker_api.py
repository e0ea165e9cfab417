"""The Docker SDK on sockets of ours: what a command says arrives whole, however it is cut into packets."""

import io
import struct
from typing import Any

import docker.errors
import pytest
import urllib3.exceptions

from hvdocker.transport.docker_api import EngineClient, engine_client

PING = b"HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK"
UPGRADED = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", kind, len(data)) + data


class Packets(io.RawIOBase):
    """What arrives, a packet a read."""

    def __init__(self, packets: list[bytes]) -> None:
        self.packets = packets

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        packet = self.packets.pop(0) if self.packets else b""
        if len(packet) > len(buffer):
            self.packets.insert(0, packet[len(buffer) :])
            packet = packet[: len(buffer)]
        buffer[: len(packet)] = packet
        return len(packet)


class ChannelFile(io.BufferedReader):
    channel: "Channel"


class Channel:
    """A socket in all but type, as an engine at the other end fills it."""

    closed = False

    def __init__(self, answer: list[bytes]) -> None:
        self.answer, self.timeout_s, self.has_ended = answer, 0.0, False

    def sendall(self, data: bytes) -> None:
        self.source = Packets([PING] if b"_ping" in data else list(self.answer))

    def makefile(self, mode: str, size: int = -1) -> ChannelFile:
        file = ChannelFile(self.source)
        file.channel = self
        return file

    def recv(self, size: int) -> bytes:
        """Past the buffer, as the SDK reads."""
        return self.source.read(size) or b""

    def settimeout(self, seconds: float | None) -> None:
        self.timeout_s = seconds or 0.0

    def gettimeout(self) -> float:
        return self.timeout_s

    def close(self) -> None:
        self.has_ended = True


def client(answer: list[bytes]) -> tuple[EngineClient, list[Channel]]:
    dialed: list[Channel] = []

    def dial() -> Channel:
        dialed.append(Channel(answer))
        return dialed[-1]

    return engine_client(dial), dialed


TOLD = frame(1, b"one\n") + frame(2, b"two\n") + frame(1, b"x" * 70_000)
CUTS = {
    "all with the head of the answer": [UPGRADED + TOLD[:60], TOLD[60:8000], TOLD[8000:]],
    "half a frame with the head": [UPGRADED + TOLD[:3], TOLD[3:10], TOLD[10:5000], TOLD[5000:]],
    "the head alone": [UPGRADED, TOLD[:5000], TOLD[5000:]],
}


@pytest.mark.parametrize("cut", CUTS)
def test_output_arrives_whole_wherever_the_head_of_the_answer_ends(cut: str) -> None:
    packets = [part[at : at + 4096] for part in CUTS[cut] for at in range(0, len(part), 4096)]
    engine, _ = client(packets)
    assert engine.exec_start("e1") == b"one\ntwo\n" + b"x" * 70_000
    assert engine.exec_start("e1", demux=True) == (b"one\n" + b"x" * 70_000, b"two\n")
    pieces = list(engine.exec_start("e1", stream=True, demux=True))
    assert pieces == [(b"one\n", None), (None, b"two\n"), (b"x" * 70_000, None)]


def test_a_short_answer_that_comes_with_its_head_is_not_lost() -> None:
    engine, _ = client([UPGRADED + frame(1, b"40\n")])
    assert engine.exec_start("e1", demux=True) == (b"40\n", None)


def test_a_command_that_says_nothing() -> None:
    engine, _ = client([UPGRADED])
    assert engine.exec_start("e1") == b""
    assert engine.exec_start("e1", demux=True) == (None, None)


def test_what_is_streamed_may_be_silent_and_what_is_asked_may_not() -> None:
    engine, dialed = client([UPGRADED + frame(1, b"one\n")])
    engine.exec_start("e1", stream=True)
    streamed = dialed[-1]
    engine.exec_start("e1")
    assert (streamed.timeout_s, dialed[-1].timeout_s) == (0.0, 120)


@pytest.mark.parametrize("stream", [False, True])
def test_a_command_that_cannot_be_started_is_an_error(stream: bool) -> None:
    told = b'{"message":"container is not running"}'
    engine, _ = client([b"HTTP/1.1 409 Conflict\r\nContent-Length: %d\r\n\r\n" % len(told) + told])
    with pytest.raises(docker.errors.APIError, match="is not running"):
        engine.exec_start("e1", stream=stream)


def test_a_log_is_cut_into_its_pieces_wherever_it_arrives_in_packets() -> None:
    told = frame(1, b"one\n") + frame(2, b"two\n") + frame(1, b"") + frame(1, b"x" * 70_000)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = [told[at : at + 5000] for at in range(0, len(told), 5000)]
    body = head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    for size in (7, 1000, 4096):
        engine, _ = client([body[at : at + size] for at in range(0, len(body), size)])
        response = engine._get(engine._url("/containers/c/logs"), stream=True)
        pieces = list(engine._multiplexed_response_stream_helper(response))
        assert pieces == [b"one\n", b"two\n", b"x" * 70_000]


def test_a_log_whose_connection_breaks_is_an_error() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    engine, _ = client([head + b"c\r\n" + frame(1, b"one\n") + b"\r\n"])
    pieces = engine._multiplexed_response_stream_helper(engine._get(engine._url("/containers/c/logs"), stream=True))
    assert next(pieces) == b"one\n"
    with pytest.raises(urllib3.exceptions.ProtocolError):
        next(pieces)
