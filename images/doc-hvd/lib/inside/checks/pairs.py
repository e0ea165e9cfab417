"""`check pairs` and `check bandwidth`: find out how this container can reach its peers. Every peer runs `check listen`.
`check pairs` probes up to AT_ONCE peers at the same time. The timeout of the JSON argument limits each connection and
each wait for an answer. An SSH login has its own, longer limit (`check.login_error`)."""

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
    """The local end of all probes. `address` is the training address of this host, and `mtu` the MTU of the interface
    that has this address (1500 if no interface has it). `timeout_s` limits each connection and each wait for an
    answer."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        """Take `address` and `timeout_s` from `order`, the JSON argument of the check. Values are `Any` because they
        come from parsed JSON."""
        self.address: str = order["address"]
        self.timeout_s: float = order["timeout_s"]
        interface = interface_of(self.address)
        self.mtu = link_mtu(interface) if interface else 1500

    def dial(self, address: str, port: int, greeting: bytes = b"") -> socket.socket:
        """Connect to a peer at `address` and `port`, send `greeting`, and return the socket. The connection starts from
        the training address, as in training. Raises OSError if the peer cannot be reached within the timeout."""
        made = socket.create_connection((address, port), self.timeout_s, (self.address, 0))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.sendall(greeting)
        return made


def main(text: str) -> int:
    """Run `check pairs`; always return 0. `text` is JSON: {address: the training address of this host, timeout_s: the
    limit of each connection and answer, peers: [{name, address, token, tcp, udp, ssh: {port, login} or null}]}. `tcp`
    (a list) and `udp` are the ports that `check listen` opened on the peer. `ssh` has the port of the peer's sshd; its
    `login` says whether to try a login too.

    Prints JSON that maps the name of each peer to {ssh, tcp, mtu, trip_s}: what was found on its SSH port and its TCP
    ports, the path MTU, and the round trip in seconds."""
    order = json.loads(text)
    source, peers = ProbeSource(order), order["peers"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda peer: probe_peer(source, peer), peers))
    # Round trips are measured after all other probes, which would slow them down.
    with ThreadPoolExecutor(ROUND_TRIPS_AT_ONCE) as pool:
        trips = list(pool.map(lambda pair: round_trip_s(source, *pair), zip(peers, found, strict=True)))
    together = zip(peers, found, trips, strict=True)
    print(json.dumps({peer["name"]: {**one, "trip_s": trip} for peer, one, trip in together}))
    return 0


def probe_peer(source: ProbeSource, peer: Json) -> Json:
    """Probe the SSH port of a peer's worker, the TCP ports of its `check listen`, and the path MTU, all in parallel.
    `source` is the local end; `peer` is {name, address, token, tcp, udp, ssh} as in the argument of `check pairs`.

    Returns {ssh: a problem, tcp: [{port, problem}], mtu}. A problem is {kind, words}, or None for success. `ssh` is
    also None if `peer["ssh"]` is None. `mtu` is {link: the MTU of this host's interface, passed: the largest packet
    that arrived, told: the path MTU that the kernel believes}. If the path MTU was not found, `mtu` is {link, error: a
    message, number: the errno, bulk: the reason why full packets over TCP failed, or None}."""
    with ThreadPoolExecutor(2 + len(peer["tcp"])) as pool:
        ssh = pool.submit(ssh_error, source, peer) if peer["ssh"] else None
        ports = {port: pool.submit(port_error, source, peer, port) for port in peer["tcp"]}
        way = (source.address, source.mtu), (peer["address"], peer["udp"])
        mtu = pool.submit(path_mtu, *way, peer["token"], source.timeout_s)
    found: Json = {
        "ssh": ssh.result() if ssh else None,
        "tcp": [{"port": port, "problem": done.result()} for port, done in ports.items()],
        "mtu": {"link": source.mtu, **mtu.result()},
    }
    if "error" in found["mtu"]:
        found["mtu"]["bulk"] = bulk_error(source, peer, found)
    return found


def problem(kind: str, words: str) -> Json:
    """Return a problem as the JSON object {kind, words}. `kind` is a word for programs, such as `timeout` or
    `refused`; `words` is a message for the user."""
    return {"kind": kind, "words": words}


def os_error_problem(error: OSError, timeout_s: float) -> Json:
    """Return the problem {kind, words} for `error`, the error of a failed connection. For a TimeoutError, `kind` is
    `timeout` and the message names the limit `timeout_s`. For other errors, `kind` is the one that PROBLEM_KINDS has
    for the errno, else `other`."""
    if isinstance(error, TimeoutError):
        return problem("timeout", f"timed out after {timeout_s:g} s")
    number = error.errno or 0
    return problem(PROBLEM_KINDS.get(number, "other"), os.strerror(number) if number else str(error))


def port_error(source: ProbeSource, peer: Json, port: int) -> Json | None:
    """Return None if the peer's `check listen` sends a greeting back on this TCP port. Otherwise return the problem
    {kind, words}: no connection, no answer in time, or another program that answers. `source` is the local end; `peer`
    has the `address` and `token` of the peer."""
    hello = b"hello"
    try:
        with source.dial(peer["address"], port, f"{peer['token']} echo\n".encode() + hello) as line:
            try:
                said = line.recv(len(hello), socket.MSG_WAITALL)
            except TimeoutError:
                return problem("silent", f"connected, then nothing came back for {source.timeout_s:g} s")
    except OSError as error:
        return os_error_problem(error, source.timeout_s)
    return None if said == hello else problem("stranger", "somebody else answers there")


def ssh_error(source: ProbeSource, peer: Json) -> Json | None:
    """Return None if the SSH port of the peer's worker sends a banner and, if `login` of `peer["ssh"]` is true, also
    accepts a login. Otherwise return the problem, {kind, words}. `source` is the local end; `peer` has the `name` and
    `address` of the peer, and `ssh`: {port, login}."""
    try:
        with source.dial(peer["address"], peer["ssh"]["port"]) as line:
            said = line.recv(4, socket.MSG_WAITALL)
    except OSError as error:
        return os_error_problem(error, source.timeout_s)
    if said != b"SSH-":
        return problem("stranger", f"no SSH server there: it said {said!r}")
    words = login_error(peer["name"]) if peer["ssh"]["login"] else None
    return problem("login", words) if words else None


def first_open_port(found: Json) -> int | None:
    """Return the first TCP port of a peer on which its `check listen` answered, or None if there is none.
    `found["tcp"]` has {port, problem} for each port; the problem is None if the port answered."""
    return next((one["port"] for one in found["tcp"] if one["problem"] is None), None)


def round_trip_s(source: ProbeSource, peer: Json, found: Json) -> float | None:
    """Measure several round trips of one byte from `source`, the local end, to `peer` (its `address` and `token`).
    Return the shortest in seconds, or None if no port of the peer is open or the connection fails. `found["tcp"]` has
    {port, problem} for each port of the peer; the first open port is used."""
    port = first_open_port(found)
    if port is None:
        return None
    times = []
    try:
        with source.dial(peer["address"], port, f"{peer['token']} echo\n".encode()) as line:
            for _ in range(ROUND_TRIPS):
                began = time.monotonic()
                line.sendall(b".")
                if not line.recv(1):
                    return None
                times.append(time.monotonic() - began)
    except OSError:
        return None
    return min(times)


def bulk_error(source: ProbeSource, peer: Json, found: Json) -> str | None:
    """Send BULK_BYTES over TCP, in full packets, from `source`, the local end, to `peer` (its `address` and `token`).
    Return None if all bytes arrive, else the reason why not. Return None also if the peer has no open port, because
    then nothing can be sent. This test replaces the MTU probe if datagrams get no answer, for example because UDP is
    blocked. `found["tcp"]` has {port, problem} for each port of the peer; the first open port is used."""
    port = first_open_port(found)
    if port is None:
        return None
    try:
        with source.dial(peer["address"], port, f"{peer['token']} sink 60\n".encode()) as line:
            line.sendall(b"." * BULK_BYTES)
            line.shutdown(socket.SHUT_WR)
            counted = dict(json.loads(line.makefile().readline() or "{}"))
    except OSError as error:
        return f"{BULK_BYTES} bytes over TCP: {os_error_problem(error, source.timeout_s)['words']}"
    except (ValueError, TypeError, RecursionError) as error:
        return f"{BULK_BYTES} bytes over TCP: the answer is malformed: {error}"
    count = counted.get("bytes", 0)
    return None if count == BULK_BYTES else f"only {count} of {BULK_BYTES} bytes arrived"


def bandwidth(text: str) -> int:
    """Run `check bandwidth`, which sends as much as possible to one peer; always return 0. `text` is JSON: {address:
    the training address of this host, timeout_s: the limit of a connection or answer, seconds: how long to send, peer:
    {address, token, tcp: the ports of its `check listen`, of which only the first is used}}. Prints {bytes, seconds} as
    counted by the peer, or {error} if the peer cannot be reached."""
    order = json.loads(text)
    source, peer, seconds = ProbeSource(order), order["peer"], order["seconds"]
    found = {"tcp": [{"port": port, "problem": port_error(source, peer, port)} for port in peer["tcp"][:1]]}
    port = first_open_port(found)
    if port is None:
        print(json.dumps({"error": found["tcp"][0]["problem"]["words"]}))
        return 0
    try:
        print(json.dumps(send_for(source, peer, port, seconds)))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        print(json.dumps({"error": str(error)}))
    return 0


def send_for(source: ProbeSource, peer: Json, port: int, seconds: float) -> Json:
    """Send as many bytes as possible to `peer` over one TCP connection for `seconds`, and return {bytes, seconds} as
    counted by the peer. `source` is the local end. `peer` has the `address` and `token` of the peer, `port` is a port
    of its `check listen`. Raises OSError if the connection fails, and ValueError, TypeError or RecursionError if the
    answer of the peer is no JSON object."""
    data = memoryview(bytes(1 << 20))
    with source.dial(peer["address"], port, f"{peer['token']} sink {seconds:g}\n".encode()) as line:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            line.settimeout(left)
            try:
                line.send(data)
            except TimeoutError:
                break
        line.shutdown(socket.SHUT_WR)
        line.settimeout(source.timeout_s)
        return dict(json.loads(line.makefile().readline()))
