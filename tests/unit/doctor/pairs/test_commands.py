"""Words for the checks in the image, and their answers."""

import json

import pytest

from hvdocker.doctor.pairs.commands import (
    Listener,
    MtuFound,
    PairAnswer,
    Problem,
    Speed,
    SshCheck,
    bandwidth_argv,
    listen_argv,
    pairs_argv,
    read_bandwidth,
    read_listener,
    read_pairs,
    stop_listener_argv,
)

A = Listener("a", "10.0.0.11", "t1", (1, 2, 3), 4, "eth0", 1500, pid=77)
B = Listener("b", "10.0.0.12", "t2", (5, 6, 7), 8, "eth0", 1500)


def test_orders_are_json_on_the_command_line() -> None:
    program, word, order = listen_argv("10.0.0.11", "t1", 60, 12345)
    assert (program, word) == ("/opt/hvdocker/bin/check", "listen")
    assert json.loads(order) == {"address": "10.0.0.11", "token": "t1", "seconds": 60, "sshd": 12345}
    peer = {"name": "b", "address": "10.0.0.12", "token": "t2", "tcp": [5, 6, 7], "udp": 8}
    for way, ssh in (
        (SshCheck.LOGIN, {"port": 12345, "login": True}),
        (SshCheck.GREETING, {"port": 12345, "login": False}),
        (SshCheck.HELD, None),
    ):
        told = json.loads(pairs_argv(A, [B], 12345, {"b": way})[2])
        assert told == {"address": "10.0.0.11", "timeout_s": 3.0, "peers": [{**peer, "ssh": ssh}]}
    assert json.loads(bandwidth_argv(A, B)[2])["peer"] == {**peer, "ssh": None}
    assert stop_listener_argv(A)[-1] == "77"


def test_posts_are_read() -> None:
    told = {"tcp": [1, 2, 3], "udp": 4, "interface": "eth0", "mtu": 1500, "pid": 77, "sshd": None}
    assert read_listener("a", "10.0.0.11", "t1", json.dumps(told)) == A
    for changed, words in (
        ({"error": "cannot listen on 10.0.0.11: no"}, "cannot listen on 10.0.0.11: no"),
        ({**told, "sshd": "timed out"}, "its sshd does not answer: timed out"),
        ({**told, "interface": None}, "no interface has the address 10.0.0.11"),
    ):
        assert read_listener("a", "10.0.0.11", "t1", json.dumps(changed)) == words
    for text in ("Traceback", '{"interface": "eth0"}', "1"):
        assert read_listener("a", "10.0.0.11", "t1", text) == "its answer is not understood"


def test_answers_are_read() -> None:
    told = {
        "b": {
            "ssh": {"kind": "timeout", "words": "timed out after 3 s"},
            "tcp": [{"port": 5, "problem": None}, {"port": 6, "problem": {"kind": "refused", "words": "no"}}],
            "mtu": {"link": 1500, "passed": 1400, "told": 1500},
            "trip_s": 0.001,
        }
    }
    assert read_pairs("a warning\n" + json.dumps(told)) == {
        "b": PairAnswer(
            Problem("timeout", "timed out after 3 s"),
            {5: None, 6: Problem("refused", "no")},
            MtuFound(1500, 1400, 1500),
            0.001,
        )
    }
    for text in ("", "[]", '{"b": {}}', '{"b": 1}', '{"b": {"ssh": 1, "tcp": [], "mtu": {}, "trip_s": 0}}'):
        assert read_pairs(text) is None


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ('{"bytes": 1000000000, "seconds": 0.8}', Speed(10.0)),
        ('{"error": "timed out"}', Speed(None, "timed out")),
        ("?", Speed(None, "its answer is not understood")),
    ],
)
def test_speeds_are_read(text: str, speed: Speed) -> None:
    assert read_bandwidth(text) == speed
