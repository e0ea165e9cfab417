"""A rank that is there before the agent of its host listens waits for it, for a while."""

import socket
import threading
from pathlib import Path

import pytest
from inside.runtime.rank_channel import ChannelHeader, connect, listen, parse_header

HEADER = ChannelHeader(3, True, 77, 2)


def test_a_rank_waits_for_its_agent(tmp_path: Path) -> None:
    path = tmp_path / "agents" / "j-0"
    connected: list[socket.socket] = []
    rank = threading.Thread(target=lambda: connected.append(connect(path, HEADER)))
    rank.start()
    rank.join(0.15)
    assert rank.is_alive()
    with listen(path) as listener:
        rank.join(5)
        connection, _address = listener.accept()
        with connection, connected[0]:
            assert parse_header(connection.recv(4096)) == (HEADER, b"")


def test_a_rank_without_an_agent_gives_up(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        connect(tmp_path / "j-0", HEADER, wait_s=0.1)
