"""An SSH client for attacks on a worker's sshd. It builds protocol messages itself, so that every request is
really sent and every refusal comes from the server, not from the client."""

import io
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paramiko
from paramiko.common import cMSG_CHANNEL_OPEN, cMSG_CHANNEL_REQUEST, cMSG_GLOBAL_REQUEST
from paramiko.message import Message

from tests.cluster.lab import LabHost
from tests.cluster.lab_cluster import SSH_FOLDER, LabCluster

WAIT_S = 20


def cluster_key(site: LabCluster, host: LabHost) -> paramiko.Ed25519Key:
    """Return the cluster's private key, read from the worker as root on a host can read it."""
    code, text, err = site.exec_in_worker(host, "cat", f"{SSH_FOLDER}/id_ed25519")
    assert code == 0, err
    return paramiko.Ed25519Key.from_private_key(io.StringIO(text))


def worker_port(site: LabCluster, host: LabHost) -> int:
    return int(site.inspect_worker(host)["Config"]["Labels"]["hvdocker.port"])


def sshd_log(site: LabCluster, host: LabHost) -> str:
    """Return the log of the worker's sshd."""
    return host.exec(f"docker logs {site.worker} 2>&1")


@contextmanager
def connected_to_worker(site: LabCluster, target: LabHost, via: LabHost | None) -> Iterator[paramiko.Transport]:
    """Connect to the worker's port from host `via`, or from this machine if `via` is None."""
    port = worker_port(site, target)
    if via is None:
        with _ssh_transport(socket.create_connection((target.address, port), WAIT_S)) as transport:
            yield transport
        return
    with _ssh_transport(socket.create_connection((via.address, 22), WAIT_S)) as bridge:
        bridge.auth_publickey("root", paramiko.Ed25519Key.from_private_key_file(str(via.key("root"))))
        hop = bridge.open_channel("direct-tcpip", (target.address, port), ("127.0.0.1", 1), timeout=WAIT_S)
        with _ssh_transport(hop) as transport:
            yield transport


@contextmanager
def _ssh_transport(link: Any) -> Iterator[paramiko.Transport]:
    transport = paramiko.Transport(link)
    try:
        transport.start_client(timeout=WAIT_S)
        yield transport
    finally:
        transport.close()


def run_command(transport: paramiko.Transport, command: str) -> str:
    session = transport.open_session(timeout=WAIT_S)
    session.exec_command(command)
    return session.makefile("rb").read().decode()


def session_request(transport: paramiko.Transport, kind: str, *details: bytes) -> bool:
    """Send a channel request in a new session; return whether the server granted it."""
    session: Any = transport.open_session(timeout=WAIT_S)
    message = Message()
    message.add_byte(cMSG_CHANNEL_REQUEST)
    message.add_int(session.remote_chanid)
    message.add_string(kind)
    message.add_boolean(True)
    for detail in details:
        message.add_bytes(detail)
    session._event_pending()
    transport._send_user_message(message)  # type: ignore[attr-defined]  # there is no public way
    try:
        session._wait_for_event()
    except paramiko.SSHException:
        return False
    return True


def global_request(transport: paramiko.Transport, kind: str, *details: bytes) -> bool:
    """Send a global request; return whether the server granted it."""
    parts: Any = transport
    parts.completion_event = threading.Event()
    message = Message()
    message.add_byte(cMSG_GLOBAL_REQUEST)
    message.add_string(kind)
    message.add_boolean(True)
    for detail in details:
        message.add_bytes(detail)
    parts._send_user_message(message)
    assert parts.completion_event.wait(WAIT_S), f"no answer to {kind}"
    return parts.global_response is not None


def request_channel(transport: paramiko.Transport, kind: str, *details: bytes) -> str:
    """Request a channel; return the server's reason for the refusal, or "opened"."""
    parts: Any = transport
    number = parts._next_channel()
    channel: Any = paramiko.Channel(number)
    parts._channels.put(number, channel)
    event = parts.channel_events[number] = threading.Event()
    parts.channels_seen[number] = True
    channel._set_transport(transport)
    message = Message()
    message.add_byte(cMSG_CHANNEL_OPEN)
    message.add_string(kind)
    for value in (number, 1 << 21, 1 << 15):
        message.add_int(value)
    for detail in details:
        message.add_bytes(detail)
    parts._send_user_message(message)
    assert event.wait(WAIT_S), f"no answer to {kind}"
    return "opened" if parts._channels.get(number) is not None else str(transport.get_exception())


def ssh_string(value: str) -> bytes:
    message = Message()
    message.add_string(value)
    return message.asbytes()


def ssh_uint32(value: int) -> bytes:
    return value.to_bytes(4, "big")
