"""The words for `check listen`, `check pairs` and `check bandwidth` in the image, and their answers. The
orders are JSON on the command line; nothing in them is secret."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hvdocker.engine.container_commands import CHECK

TIMEOUT_S = 3.0
POUR_S = 0.8


class SshWay(Enum):
    """What may be tried on a host's worker port: a login; only a greeting where a worker of the cluster has
    it, whose keys are its own; nothing where somebody else has it."""

    LOGIN = "login"
    GREETING = "greeting"
    HELD = "held"


@dataclass(frozen=True)
class Listener:
    """A host's end of all its pairs: the ports that are open there for the time of the examination."""

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
    """`kind` is timeout, refused, unreachable, own (the sender's kernel forbids it), silent, stranger, login
    or other."""

    kind: str
    words: str


@dataclass(frozen=True)
class MtuFound:
    """`link` is what the sender's interface takes, `passed` the largest packet that arrived, `told` what the
    sender's kernel believes of the path. `bulk` is why a TCP stream did not arrive, where it was tried."""

    link: int
    passed: int | None = None
    told: int | None = None
    error: str | None = None
    bulk: str | None = None


@dataclass(frozen=True)
class Answer:
    ssh: Problem | None
    ports: Mapping[int, Problem | None]
    mtu: MtuFound
    trip_s: float | None


@dataclass(frozen=True)
class Speed:
    gbit_s: float | None
    error: str | None = None


def listen_words(address: str, token: str, seconds: float, sshd_port: int | None) -> list[str]:
    order = {"address": address, "token": token, "seconds": seconds, "sshd": sshd_port}
    return [CHECK, "listen", json.dumps(order)]


def pairs_words(own: Listener, peers: Iterable[Listener], port: int, ways: Mapping[str, SshWay]) -> list[str]:
    order = {
        "address": own.address,
        "timeout_s": TIMEOUT_S,
        "peers": [_as_peer(peer, _ssh(port, ways[peer.host])) for peer in peers],
    }
    return [CHECK, "pairs", json.dumps(order)]


def bandwidth_words(own: Listener, peer: Listener) -> list[str]:
    order = {
        "address": own.address,
        "timeout_s": TIMEOUT_S,
        "seconds": POUR_S,
        "peer": _as_peer(peer, None),
    }
    return [CHECK, "bandwidth", json.dumps(order)]


def end_words(post: Listener) -> list[str]:
    """What listens goes on after its command has ended."""
    return ["sh", "-c", 'kill "$1"', "sh", str(post.pid)]


def _ssh(port: int, way: SshWay) -> Mapping[str, object] | None:
    return None if way is SshWay.HELD else {"port": port, "login": way is SshWay.LOGIN}


def _as_peer(post: Listener, ssh: Mapping[str, object] | None) -> Mapping[str, object]:
    return {
        "name": post.host,
        "address": post.address,
        "token": post.token,
        "tcp": post.tcp,
        "udp": post.udp,
        "ssh": ssh,
    }


def read_post(host: str, address: str, token: str, text: str) -> Listener | str:
    """The post, or why there is none."""
    told = _json(text)
    if told is None or "error" in told:
        return str(told["error"]) if told else "its answer is not understood"
    if told.get("sshd"):
        return f"its sshd does not answer: {told['sshd']}"
    if not told.get("interface"):
        return f"no interface has the address {address}"
    try:
        ports = tuple(map(int, told["tcp"])), int(told["udp"])
        return Listener(
            host, address, token, *ports, str(told["interface"]), int(told["mtu"]), int(told["pid"])
        )
    except (KeyError, TypeError, ValueError):
        return "its answer is not understood"


def read_pairs(text: str) -> Mapping[str, Answer] | None:
    """By the peer's name; None where the answer is not understood."""
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
    """The last line. Any: JSON."""
    try:
        found = json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return None
    return found if isinstance(found, dict) else None


def _answer(one: Mapping[str, Any]) -> Answer:
    """Any: JSON."""
    mtu = one["mtu"]
    return Answer(
        ssh=_problem(one["ssh"]),
        ports={port["port"]: _problem(port["problem"]) for port in one["tcp"]},
        mtu=MtuFound(mtu["link"], mtu.get("passed"), mtu.get("told"), mtu.get("error"), mtu.get("bulk")),
        trip_s=one["trip_s"],
    )


def _problem(one: Mapping[str, str] | None) -> Problem | None:
    return Problem(one["kind"], one["words"]) if one else None
