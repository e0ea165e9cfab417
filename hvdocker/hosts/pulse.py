"""Notices a host that went silent behind a jump host or a ProxyCommand, where the kernel cannot: the TCP
connection there is only to the thing in between."""

from __future__ import annotations

import threading

import paramiko

BEAT_S = 10.0
SILENCE_S = 20.0


def watch_pulse(transport: paramiko.Transport, beat_s: float = BEAT_S, silence_s: float = SILENCE_S) -> None:
    """Asks the server for a sign of life now and then; without an answer the connection is closed, and
    whoever waits on it is told."""

    def watch() -> None:
        while transport.is_active():
            answered = threading.Event()
            threading.Thread(target=_ask, args=(transport, answered), daemon=True).start()
            if not answered.wait(silence_s):
                transport.close()
                return
            threading.Event().wait(beat_s)

    threading.Thread(target=watch, name="pulse", daemon=True).start()


def _ask(transport: paramiko.Transport, answered: threading.Event) -> None:
    # A refusal is a sign of life too.
    transport.global_request("keepalive@openssh.com", wait=True)
    answered.set()
