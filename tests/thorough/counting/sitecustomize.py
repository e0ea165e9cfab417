"""Counts what a Python process sends: SSH connections, SSH channels, HTTP requests, and bytes over SSH.

Python imports this module at its start if this folder is on PYTHONPATH. If the variable WIRE_EVENTS names a file, every
event appends a line to it: the address of the server, what in hvdocker asked for it, and the event. At its end the
process appends one line per server with the number of bytes. The modules that send are changed when the process imports
them, not before, because hvdocker imports them late."""

import atexit
import importlib.util
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

CHANNEL_OPEN = 90  # SSH_MSG_CHANNEL_OPEN of RFC 4254
# Threads that renew locks and tickets every few seconds: how often they do depends on the time that a verb takes.
PERIODIC_THREADS = ("background", "ticket")
# Packages through which others send: they do not say what a request is for.
CARRIERS = ("hvdocker.transport.", "hvdocker.engine.", "hvdocker.shell.")


def record_event(sock: Any, event: str, asker: str = "") -> None:
    if threading.current_thread().name not in PERIODIC_THREADS:
        append_line(address_of(sock), asker or asker_of_call(), event)


def address_of(sock: Any) -> str:
    peer = sock.getpeername()
    # The engine of this machine is reached by a Unix socket, whose peer is a path.
    return str(peer[0]) if isinstance(peer, tuple) else "controller"


def append_line(*fields: str) -> None:
    line = "\t".join(fields)
    file = os.open(os.environ["WIRE_EVENTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())  # one call: lines of several threads are not mixed
    os.close(file)


def asker_of_call() -> str:
    """Return the stage of the plan in which the caller runs, else the nearest module of hvdocker that is no carrier,
    else (in a thread that only carries) the nearest carrier."""
    frame, nearest, carrier = sys._getframe(1), "", ""
    while frame := frame.f_back:  # type: ignore[assignment]  # None ends the loop
        module = frame.f_globals.get("__name__", "")
        if module == "hvdocker.plan.apply" and frame.f_code.co_name == "_run_step":
            return f"stage {frame.f_locals['stage']}"
        if module.startswith(CARRIERS):
            carrier = carrier or module
        elif module.startswith("hvdocker."):
            nearest = nearest or module
    return (nearest or carrier).removeprefix("hvdocker.")


def count_ssh(module: Any) -> None:  # Any: paramiko.transport
    transport = module.Transport
    start_client, send_message = transport.start_client, transport._send_user_message

    def start_and_count(self: Any, *args: Any, **settings: Any) -> None:
        record_event(self, "SSH connection", "connect")
        start_client(self, *args, **settings)

    def send_and_count(self: Any, message: Any) -> None:
        with message.packet.getbuffer() as view:
            number, size = view[0], int.from_bytes(view[1:5], "big")
            kind = bytes(view[5 : 5 + size]).decode() if number == CHANNEL_OPEN else ""
        if kind:
            record_event(self, f"channel {kind}")
        send_message(self, message)

    transport.start_client, transport._send_user_message = start_and_count, send_and_count


def count_bytes(module: Any) -> None:  # Any: paramiko.packet
    packetizer = module.Packetizer
    write_all = packetizer.write_all
    sent: Counter[str] = Counter()
    changing = threading.Lock()

    def write_and_count(self: Any, out: bytes) -> None:
        write_all(self, out)
        with changing:
            sent[address_of(self._Packetizer__socket)] += len(out)

    packetizer.write_all = write_and_count
    atexit.register(lambda: [append_line(address, "bytes", str(count)) for address, count in sent.items()])


def count_http(module: Any) -> None:  # Any: http.client
    connection = module.HTTPConnection
    putrequest, getresponse = connection.putrequest, connection.getresponse

    def put_and_note(self: Any, method: str, url: str, *args: Any, **settings: Any) -> None:
        self.noted_request = f"{method} {url}"
        putrequest(self, method, url, *args, **settings)

    def get_and_count(self: Any) -> Any:
        # Here and not in putrequest, where a new connection has no socket yet.
        record_event(self.sock, self.noted_request)
        return getresponse(self)

    connection.putrequest, connection.getresponse = put_and_note, get_and_count


class ChangeOnImport:
    """Changes modules when they are imported: `changes` has, by the module's name, the function that does it."""

    def __init__(self, changes: dict[str, Callable[[ModuleType], None]]) -> None:
        self._changes = changes

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        change = self._changes.pop(name, None)
        # Without its entry in `changes`, the name is left to the usual finders.
        spec = importlib.util.find_spec(name) if change else None
        if change is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            change(module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]
        return spec


CHANGES: dict[str, Callable[[Any], None]] = {
    "paramiko.transport": count_ssh,
    "paramiko.packet": count_bytes,
    "http.client": count_http,
}

if "WIRE_EVENTS" in os.environ:
    for imported in CHANGES.keys() & sys.modules.keys():  # by the environment's .pth files
        CHANGES.pop(imported)(sys.modules[imported])
    sys.meta_path.insert(0, ChangeOnImport(CHANGES))
