"""Builds the argv of `check listen`, `check pairs` and `check bandwidth` in the image, and parses their output.

The arguments of these programs are JSON on the command line. They contain no secrets. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hvdocker.engine.container_commands import CHECK_PROGRAM

TIMEOUT_S = 3.0
MEASURE_S = 0.8


class SshCheck(Enum):
    """Which check is made on a host's worker port.

    LOGIN: an SSH login. GREETING: only the SSH banner is read, because the cluster's own worker has the port and does
    not know the doctor's keys. HELD: no check, because another program has the port."""

    LOGIN = "login"
    GREETING = "greeting"
    HELD = "held"


@dataclass(frozen=True)
class Listener:
    """The process that `check listen` leaves in a container of a host, and the ports that it opened for the peers.

    There are three TCP ports (`tcp`) and one UDP port (`udp`). A peer has to send the `token`. `pid` is the process id
    in the container. `interface` and `mtu` are those of the training `address`."""

    host: str
    address: str
    token: str
    tcp: tuple[int, ...]
    udp: int
    interface: str
    mtu: int
    pid: int = 0


@dataclass(frozen=True)
class Problem:
    """Why a connection failed. `words` is the text for the user.

    `kind` is timeout, refused, unreachable, own (the sender's kernel forbids the connection), silent (connected, but
    no answer), stranger (another program answers), login (the SSH login failed) or other."""

    kind: str
    words: str


@dataclass(frozen=True)
class MtuFound:
    """Packet sizes from one host to another, in bytes.

    `link` is the MTU of the sender's interface, `passed` the largest packet that arrived, `kernel_mtu` the path MTU
    that the sender's kernel assumes. The sizes are measured with UDP datagrams that must not be fragmented. The
    receiver answers with short acknowledgements, because echoes of full size would also test the other direction. Ping
    and raw sockets are not used, because they need capabilities that containers lack.

    `error` is why the UDP datagrams failed, for example because UDP is blocked. Then 256 KB are sent over TCP to see
    whether full packets arrive. `bulk_error` is why these full packets did not arrive. It is None if they arrived or if
    no TCP port was open."""

    link: int
    passed: int | None = None
    kernel_mtu: int | None = None
    error: str | None = None
    bulk_error: str | None = None


@dataclass(frozen=True)
class PairAnswer:
    """What one host found out about one peer.

    `ssh` is the result on the worker port, `ports` that of each random TCP port, by port number. None in place of a
    Problem means success, or for `ssh` that it was not tried (SshCheck.HELD). `round_trip_s` is the shortest round
    trip, None if it could not be measured."""

    ssh: Problem | None
    ports: Mapping[int, Problem | None]
    mtu: MtuFound
    round_trip_s: float | None


@dataclass(frozen=True)
class Speed:
    """A measured bandwidth. If it could not be measured, `gbit_s` is None and `error` says why."""

    gbit_s: float | None
    error: str | None = None


def listen_argv(address: str, token: str, seconds: float, sshd_port: int | None) -> list[str]:
    """Return the argv of `check listen`, which opens ports on `address` for `seconds`.

    `token` is a random text that peers have to send. With `sshd_port` the program also checks that the container's sshd
    answers on that port. If `sshd_port` is None, sshd is not checked."""
    order = {"address": address, "token": token, "seconds": seconds, "sshd": sshd_port}
    return [CHECK_PROGRAM, "listen", json.dumps(order)]


def pairs_argv(own: Listener, peers: Iterable[Listener], port: int, ways: Mapping[str, SshCheck]) -> list[str]:
    order = {
        "address": own.address,
        "timeout_s": TIMEOUT_S,
        "peers": [_as_peer(peer, _ssh(port, ways[peer.host])) for peer in peers],
    }
    return [CHECK_PROGRAM, "pairs", json.dumps(order)]


def bandwidth_argv(own: Listener, peer: Listener) -> list[str]:
    """Return the argv of `check bandwidth`, which sends one TCP stream to the peer for MEASURE_S seconds.

    `own` and `peer` are the listeners of the sending and of the receiving host. The receiver counts the bytes."""
    order = {"address": own.address, "timeout_s": TIMEOUT_S, "seconds": MEASURE_S, "peer": _as_peer(peer, None)}
    return [CHECK_PROGRAM, "bandwidth", json.dumps(order)]


def stop_listener_argv(listener: Listener) -> list[str]:
    """Return the argv that ends the listener, to be run in its container.

    The listener is a process that goes on after `check listen` has returned."""
    return ["sh", "-c", 'kill "$1"', "sh", str(listener.pid)]


def _ssh(port: int, way: SshCheck) -> Mapping[str, object] | None:
    return None if way is SshCheck.HELD else {"port": port, "login": way is SshCheck.LOGIN}


def _as_peer(listener: Listener, ssh: Mapping[str, object] | None) -> Mapping[str, object]:
    return {
        "name": listener.host,
        "address": listener.address,
        "token": listener.token,
        "tcp": listener.tcp,
        "udp": listener.udp,
        "ssh": ssh,
    }


def read_listener(host: str, address: str, token: str, text: str) -> Listener | str:
    """Parse `text`, the output of `check listen`. Return the listener, or a text that says why there is none.

    `host`, `address` and `token` are those with which the program was started."""
    told = _json(text)
    if told is None or "error" in told:
        return str(told["error"]) if told else "its answer is not understood"
    if told.get("sshd"):
        return f"its sshd does not answer: {told['sshd']}"
    if not told.get("interface"):
        return f"no interface has the address {address}"
    try:
        ports = tuple(map(int, told["tcp"])), int(told["udp"])
        return Listener(host, address, token, *ports, str(told["interface"]), int(told["mtu"]), int(told["pid"]))
    except (KeyError, TypeError, ValueError):
        return "its answer is not understood"


def read_pairs(text: str) -> Mapping[str, PairAnswer] | None:
    """Parse the output of `check pairs`. Return the answers by the name of the other host.

    Return None if the output is not valid."""
    told = _json(text)
    try:
        return None if told is None else {name: _answer(one) for name, one in told.items()}
    except (KeyError, TypeError, AttributeError):
        return None


def read_bandwidth(text: str) -> Speed:
    told = _json(text)
    try:
        if told is not None and "error" in told:
            return Speed(None, str(told["error"]))
        return Speed((told or {})["bytes"] * 8 / (told or {})["seconds"] / 1e9)
    except (KeyError, TypeError, ZeroDivisionError):
        return Speed(None, "its answer is not understood")


def _json(text: str) -> Mapping[str, Any] | None:
    """Parse the last line of the text as a JSON object. Return None if it is not valid.

    Values are `Any` because they come from parsed JSON."""
    try:
        found = json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return None
    return found if isinstance(found, dict) else None


def _answer(one: Mapping[str, Any]) -> PairAnswer:
    """Return the answer about one peer from its entry in the output of `check pairs`.

    Values are `Any` because they come from parsed JSON."""
    mtu = one["mtu"]
    return PairAnswer(
        ssh=_problem(one["ssh"]),
        ports={port["port"]: _problem(port["problem"]) for port in one["tcp"]},
        mtu=MtuFound(mtu["link"], mtu.get("passed"), mtu.get("told"), mtu.get("error"), mtu.get("bulk")),
        round_trip_s=one["trip_s"],
    )


def _problem(one: Mapping[str, str] | None) -> Problem | None:
    return Problem(one["kind"], one["words"]) if one else None
