"""`check pairs` and `check bandwidth`: what this container can reach of its peers, each of which runs `check
listen`. All peers are tried at once, and nothing waits longer than the given timeout."""

import errno
import json
import os
import socket
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from inside.checks.check import login_error
from inside.checks.path_mtu import link_mtu, path_mtu
from inside.runtime.interfaces import interface_of

AT_ONCE = 64
ROUND_TRIPS = 8
ROUND_TRIPS_AT_ONCE = 8
BULK_BYTES = 1 << 18
PROBLEM_KINDS = {
    errno.ECONNREFUSED: "refused",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.EPERM: "own",
}

Json = dict[str, Any]  # Any: JSON


class ProbeSource:
    """The local end of all probes: the training address, its MTU, and the timeout."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        """Any: JSON."""
        self.address: str = order["address"]
        self.timeout_s: float = order["timeout_s"]
        interface = interface_of(self.address)
        self.mtu = link_mtu(interface) if interface else 1500

    def dial(self, address: str, port: int, greeting: bytes = b"") -> socket.socket:
        """Connect from the training address, as training does."""
        made = socket.create_connection((address, port), self.timeout_s, (self.address, 0))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.sendall(greeting)
        return made


def main(text: str) -> int:
    """{address, timeout_s, peers: [{name, address, token, tcp, udp, ssh: {port, login} or null}]} → the
    results by name of the peer."""
    order = json.loads(text)
    start, peers = ProbeSource(order), order["peers"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda peer: probe_peer(start, peer), peers))
    # Round trips are measured after all other probes, which would slow them down.
    with ThreadPoolExecutor(ROUND_TRIPS_AT_ONCE) as pool:
        trips = list(pool.map(lambda pair: round_trip_s(start, *pair), zip(peers, found, strict=True)))
    together = zip(peers, found, trips, strict=True)
    print(json.dumps({peer["name"]: {**one, "trip_s": trip} for peer, one, trip in together}))
    return 0


def probe_peer(start: ProbeSource, peer: Json) -> Json:
    """Probe one peer: its worker port, its random ports and its path MTU, in parallel."""
    with ThreadPoolExecutor(2 + len(peer["tcp"])) as pool:
        ssh = pool.submit(ssh_error, start, peer) if peer["ssh"] else None
        ports = {port: pool.submit(port_error, start, peer, port) for port in peer["tcp"]}
        way = (start.address, start.mtu), (peer["address"], peer["udp"])
        mtu = pool.submit(path_mtu, *way, peer["token"], start.timeout_s)
    found: Json = {
        "ssh": ssh.result() if ssh else None,
        "tcp": [{"port": port, "problem": done.result()} for port, done in ports.items()],
        "mtu": {"link": start.mtu, **mtu.result()},
    }
    if "error" in found["mtu"]:
        found["mtu"]["bulk"] = bulk_error(start, peer, found)
    return found


def problem(kind: str, words: str) -> Json:
    """Return a problem: `kind` for programs, `words` for the user."""
    return {"kind": kind, "words": words}


def os_error_problem(error: OSError, timeout_s: float) -> Json:
    """Return the kernel's error as a problem."""
    if isinstance(error, TimeoutError):
        return problem("timeout", f"timed out after {timeout_s:g} s")
    number = error.errno or 0
    return problem(PROBLEM_KINDS.get(number, "other"), os.strerror(number) if number else str(error))


def port_error(start: ProbeSource, peer: Json, port: int) -> Json | None:
    """Return None if our own listener answers on that port, else the problem."""
    hello = b"hello"
    try:
        with start.dial(peer["address"], port, f"{peer['token']} echo\n".encode() + hello) as line:
            try:
                said = line.recv(len(hello), socket.MSG_WAITALL)
            except TimeoutError:
                return problem("silent", f"connected, then nothing came back for {start.timeout_s:g} s")
    except OSError as error:
        return os_error_problem(error, start.timeout_s)
    return None if said == hello else problem("stranger", "somebody else answers there")


def ssh_error(start: ProbeSource, peer: Json) -> Json | None:
    """Return None if the worker port greets and, if `login` is set, accepts a login; else the problem."""
    try:
        with start.dial(peer["address"], peer["ssh"]["port"]) as line:
            said = line.recv(4, socket.MSG_WAITALL)
    except OSError as error:
        return os_error_problem(error, start.timeout_s)
    if said != b"SSH-":
        return problem("stranger", f"no SSH server there: it said {said!r}")
    words = login_error(peer["name"]) if peer["ssh"]["login"] else None
    return problem("login", words) if words else None


def first_open_port(found: Json) -> int | None:
    """Return one of the random ports that worked, or None."""
    return next((one["port"] for one in found["tcp"] if one["problem"] is None), None)


def round_trip_s(start: ProbeSource, peer: Json, found: Json) -> float | None:
    """Return the shortest of several round trips of one byte, in seconds; None if no port is open or the
    connection fails."""
    port = first_open_port(found)
    if port is None:
        return None
    times = []
    try:
        with start.dial(peer["address"], port, f"{peer['token']} echo\n".encode()) as line:
            for _ in range(ROUND_TRIPS):
                began = time.monotonic()
                line.sendall(b".")
                if not line.recv(1):
                    return None
                times.append(time.monotonic() - began)
    except OSError:
        return None
    return min(times)


def bulk_error(start: ProbeSource, peer: Json, found: Json) -> str | None:
    """Return None if a TCP stream of full packets arrives, else the reason why not. It is used where
    datagrams get no answer, for example where UDP is blocked. None also if no port is open."""
    port = first_open_port(found)
    if port is None:
        return None
    try:
        with start.dial(peer["address"], port, f"{peer['token']} sink 60\n".encode()) as line:
            line.sendall(b"." * BULK_BYTES)
            line.shutdown(socket.SHUT_WR)
            told = json.loads(line.makefile().readline() or "{}")
    except OSError as error:
        return f"{BULK_BYTES} bytes over TCP: {os_error_problem(error, start.timeout_s)['words']}"
    return None if told.get("bytes") == BULK_BYTES else f"only {told.get('bytes', 0)} of {BULK_BYTES} bytes arrived"


def bandwidth(text: str) -> int:
    """{address, timeout_s, seconds, peer} → {bytes, seconds} as counted by the peer, or {error}."""
    order = json.loads(text)
    start, peer, seconds = ProbeSource(order), order["peer"], order["seconds"]
    found = {"tcp": [{"port": port, "problem": port_error(start, peer, port)} for port in peer["tcp"][:1]]}
    port = first_open_port(found)
    if port is None:
        print(json.dumps({"error": found["tcp"][0]["problem"]["words"]}))
        return 0
    try:
        print(json.dumps(send_for(start, peer, port, seconds)))
    except (OSError, ValueError) as error:
        print(json.dumps({"error": str(error)}))
    return 0


def send_for(start: ProbeSource, peer: Json, port: int, seconds: float) -> Json:
    """Send as much as one connection takes within `seconds`; return the peer's count."""
    data = memoryview(bytes(1 << 20))
    with start.dial(peer["address"], port, f"{peer['token']} sink {seconds:g}\n".encode()) as line:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            line.settimeout(left)
            try:
                line.send(data)
            except TimeoutError:
                break
        line.shutdown(socket.SHUT_WR)
        line.settimeout(start.timeout_s)
        return dict(json.loads(line.makefile().readline()))
