"""Makes clients of the Docker SDK that send their requests over channels of an SSH connection. For the controller's own
engine (`local_client`) the SDK opens an ordinary socket.

The SDK sends its HTTP requests with the library `requests`. `_Adapter` passes them to `_Pool` (urllib3). Each
`_Connection` of the pool uses a new channel as its socket. The base URL contains `ssh`, which makes the SDK read
hijacked streams (attach, exec) from the channel.

When the SSH connection breaks, a stream of events or of a followed log ends without an error, because the SDK's
CancellableStream catches the error. So code that reads such a stream has to check afterwards whether the container
ended. The output of an exec (`_frames`) raises the channel's OSError."""

from __future__ import annotations

import queue
import struct
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Any

import urllib3
import urllib3.connection
import urllib3.connectionpool
import urllib3.exceptions
from docker import APIClient
from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.transport.basehttpadapter import BaseHTTPAdapter
from docker.utils import version_lt
from docker.utils.socket import consume_socket_output, demux_adaptor

BASE_URL = "http+docker://ssh"
TIMEOUT_S = 120
# Limits of the first ping of the controller's own engine: for the connection, and for the answer of a busy engine.
LOCAL_TIMEOUTS_S = (3.0, 15.0)
# Precedes each piece of output: the number of its stream, and its length.
_FRAME_HEADER = struct.Struct(">BxxxL")
# Private names of the SDK that the package uses; a unit test checks that they still exist.
DOCKER_PRIVATE_NAMES = (
    "_url", "_version", "_raise_for_status", "_get", "_post", "_post_json", "_stream_helper",
    "_stream_raw_result", "_proxy_configs", "_disable_socket_timeout", "_get_raw_response_socket",
    "_read_from_socket", "_multiplexed_response_stream_helper",
)  # fmt: skip

Dial = Callable[[], Any]  # Any: a paramiko Channel, which is a socket in all but type


class EngineClient(APIClient):  # type: ignore[misc]  # untyped base
    """A Docker API client. Unlike the SDK's own client, it reads the complete output of an exec, and it reads logs
    faster.

    `engine_version` is the Docker version from a ping, or `?` if the ping did not name it."""

    engine_version = "?"

    def _read_from_socket(
        self, response: Any, stream: bool, tty: bool = False, demux: bool = False
    ) -> Any:  # Any: as the SDK's own, whose exec_start calls it
        """Return the output of an exec. This replaces the SDK's method and has the same parameters: with `stream`, the
        result is an iterator of pieces. `tty` is ignored, because hvdocker runs an exec without a terminal.

        The output is read from the buffer in which the response header arrived. The SDK's own method bypasses that
        buffer and loses the output that arrived with the header (docker-py issue 2042). A stream has no timeout,
        because a command may be silent for any time."""
        self._raise_for_status(response)
        if stream:
            self._disable_socket_timeout(self._get_raw_response_socket(response))
        pieces = (demux_adaptor(*frame) if demux else frame[1] for frame in _frames(response))
        return pieces if stream else consume_socket_output(pieces, demux=demux)

    def _multiplexed_response_stream_helper(self, response: Any) -> Iterator[bytes]:  # Any: as above
        """Yield the pieces of a container's log as they arrive; a piece is mostly one line. This replaces the SDK's
        method. `response` is the engine's answer, as the library `requests` returns it.

        The SDK's own method makes two calls of urllib3 for each piece. These calls take longer than a job takes to
        print the piece."""
        self._disable_socket_timeout(self._get_raw_response_socket(response))
        buffer = bytearray()
        while data := _read_some(response):
            buffer += data
            start = 0
            while len(buffer) >= start + _FRAME_HEADER.size:
                end = start + _FRAME_HEADER.size + _FRAME_HEADER.unpack_from(buffer, start)[1]
                if len(buffer) < end:
                    break
                if piece := bytes(buffer[start + _FRAME_HEADER.size : end]):
                    yield piece
                start = end
            del buffer[:start]


def _read_some(response: Any) -> bytes:
    """Wait until a streamed response has at least one more byte, and return the bytes that can be read at once.
    Return empty bytes at the end of the response. A broken connection raises urllib3's ProtocolError, as with urllib3's
    own read."""
    try:
        return response.raw._fp.read1(1 << 16)  # type: ignore[no-any-return]  # urllib3 is untyped here
    except (HTTPException, OSError) as error:
        raise urllib3.exceptions.ProtocolError(f"the connection broke: {error!r}", error) from error


def _frames(response: Any) -> Iterator[tuple[int, bytes]]:
    """Yield (stream number, data) for each piece of output of an exec that runs without a terminal. The number is 1
    for standard output and 2 for standard error. `response` is the answer to the start of the exec."""
    buffer = response.raw._fp.fp
    try:
        while len(head := buffer.read(8)) == 8:
            kind, length = _FRAME_HEADER.unpack(head)
            yield kind, buffer.read(length)
    finally:
        response.close()


def engine_client(dial: Dial) -> EngineClient:
    """Return an API client for an engine that is reached through a link. It calls `dial` for every new connection to
    the engine; `dial` returns an open channel.

    The client uses the newest API version that the SDK and the engine both know. This function asks the engine for its
    version. If the engine does not answer, it raises an error of paramiko, requests or the SDK."""
    # The SDK's constructor wants an address; it is replaced before anything is sent.
    client = EngineClient(base_url="tcp://localhost:1", version=DEFAULT_DOCKER_API_VERSION, timeout=TIMEOUT_S)
    client.base_url = BASE_URL
    client.trust_env = False
    client.mount("http+docker://", _Adapter(dial))
    return _agree_on_version(client)


def local_client(socket_url: str, tls: Any = None) -> EngineClient:
    """Return an API client for an engine that the SDK itself can reach. `socket_url` is a Docker URL such as
    unix:///var/run/docker.sock. `tls` is the SDK's TLSConfig, None without TLS; it is `Any` because the SDK has no
    types.

    Raise an OSError or the SDK's DockerException if no engine answers. The first ping has a short timeout, because some
    callers can do without this engine. Later requests have TIMEOUT_S."""
    client = EngineClient(base_url=socket_url, version=DEFAULT_DOCKER_API_VERSION, timeout=TIMEOUT_S, tls=tls)
    return _agree_on_version(client, LOCAL_TIMEOUTS_S)


def _agree_on_version(client: EngineClient, timeout_s: float | tuple[float, float] = TIMEOUT_S) -> EngineClient:
    """Set the client's API version and `engine_version` from the headers of a ping to the engine, and return the
    client.

    `timeout_s` is the limit of the ping, or a pair: for the connection and for the answer. A request to `/version`
    would be slow, because the engine then starts runc and other programs. It is made only if the ping names no API
    version."""
    answer = client.get(client._url("/_ping", versioned_api=False), timeout=timeout_s)
    client._raise_for_status(answer)
    offered = answer.headers.get("Api-Version") or client.version(api_version=False)["ApiVersion"]
    if version_lt(offered, DEFAULT_DOCKER_API_VERSION):
        client._version = offered
    client.engine_version = _version_in(answer.headers.get("Server", ""))
    return client


def _version_in(server: str) -> str:
    """Return the engine's version in `server`, the HTTP header Server of its answer, such as 20.10.24+dfsg1 in
    `Docker/20.10.24+dfsg1 (linux)`. Return `?` if the header names no version."""
    name, _, rest = server.partition("/")
    return rest.split()[0] if name == "Docker" and rest.strip() else "?"


class _Connection(urllib3.connection.HTTPConnection):  # type: ignore[misc]  # untyped base
    def __init__(self, dial: Dial) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._dial = dial

    def connect(self) -> None:
        self.sock = self._dial()
        self.sock.settimeout(TIMEOUT_S)


class _Pool(urllib3.connectionpool.HTTPConnectionPool):  # type: ignore[misc]  # untyped base
    scheme = "ssh"

    def __init__(self, dial: Dial) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S, maxsize=10)
        self._dial = dial

    def _new_conn(self) -> _Connection:
        return _Connection(self._dial)

    def _get_conn(self, timeout: float | None = None) -> _Connection:
        """Return an idle connection whose channel is still open, else a new connection. `timeout` is ignored. This
        replaces urllib3's check for closed connections, which calls `fileno()` and so makes paramiko open a pipe for
        every channel."""
        while True:
            try:
                connection = self.pool.get(block=False)
            except queue.Empty:
                return self._new_conn()
            if connection is not None and connection.sock is not None and not connection.sock.closed:
                return connection  # type: ignore[no-any-return]  # urllib3 is untyped here
            if connection is None:
                return self._new_conn()


class _Adapter(BaseHTTPAdapter):  # type: ignore[misc]  # untyped base
    def __init__(self, dial: Dial) -> None:
        super().__init__()
        self._pool = _Pool(dial)

    def get_connection(self, url: str, proxies: object = None) -> _Pool:
        return self._pool

    def get_connection_with_tls_context(
        self, request: object, verify: object, proxies: object = None, cert: object = None
    ) -> _Pool:
        return self._pool

    def close(self) -> None:
        self._pool.close()
