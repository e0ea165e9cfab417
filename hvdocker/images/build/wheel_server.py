"""Serves wheels of the controller's cache to a build on the controller's own engine.

The build runs in the host's network, so it reaches the loopback interface. The classic builder can mount no folder, and
wheels in the build context (several GB for CUDA) would be copied twice by every build.

The build reaches the server by the host name NAME, which the engine resolves to the server's address for this build
only. Neither name nor address is part of the key of a cached layer. The address is a random address of the loopback
network and belongs to this process, so no other user can serve wheels in its place."""

from __future__ import annotations

import contextlib
import html
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, unquote

# images/doc-hvd/build/venv-pip knows both.
NAME = "hvdocker-wheels"
PORT = 8642


@contextmanager
def served_wheels(folder: Path, list_wheels: Callable[[], list[str]]) -> Iterator[dict[str, str]]:
    """Serve wheels of `folder` while the `with` block runs. Yield a mapping of the server's host name to its address,
    which the build needs. Yield an empty mapping if no server can be started.

    `list_wheels` downloads the wheels that the folder lacks, and returns the names of the wheels to serve. It is called
    at the first request of the build, so a build whose layers are all cached downloads nothing."""
    try:
        address = f"127.{1 + secrets.randbelow(254)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
        server = ThreadingHTTPServer((address, PORT), _handler(folder, list_wheels))
    except OSError:
        yield {}
        return
    thread = threading.Thread(target=server.serve_forever, name="wheels", daemon=True)
    thread.start()
    try:
        yield {NAME: address}
    finally:
        server.shutdown()
        server.server_close()


def _handler(folder: Path, list_wheels: Callable[[], list[str]]) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()
    listed: list[list[str]] = []

    def names() -> list[str]:
        with lock:
            if not listed:
                listed.append(list_wheels())
            return listed[0]

    class WheelHandler(BaseHTTPRequestHandler):
        """Answers `/` with links to the wheels, `/FILE` with the wheel of that file name, and other paths with 404."""

        def do_GET(self) -> None:
            name = unquote(self.path.lstrip("/"))
            with contextlib.suppress(ConnectionError):
                if not name:
                    self._send_list()
                elif name in names():
                    self._send_wheel(folder / name)
                else:
                    self.send_error(404)

        def _send_list(self) -> None:
            links = "".join(f'<a href="{quote(name)}">{html.escape(name)}</a>\n' for name in names())
            self._begin("text/html", len(links.encode()))
            self.wfile.write(links.encode())

        def _send_wheel(self, wheel: Path) -> None:
            with wheel.open("rb") as file:
                self._begin("application/octet-stream", wheel.stat().st_size)
                shutil.copyfileobj(file, self.wfile, 1 << 20)

        def _begin(self, kind: str, length: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing. The base class would write each request to standard error."""

    return WheelHandler
