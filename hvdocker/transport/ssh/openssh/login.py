"""An `ssh` process that is logged in to a host. Other `ssh` processes use its connection."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hvdocker.transport.ssh.openssh.arguments import LoginFiles, known_hosts_text, login_arguments
from hvdocker.transport.ssh.openssh.hops import agent_for, describe_hops
from hvdocker.transport.ssh.openssh.process import SshProcess

# The limit of a login, in which jump hosts, handshakes and logins are included.
LOGIN_LIMIT_S = 5.0
_LOOK_S = 0.005
_LOST_LIMIT_S = 1.0


class OpensshRefused(Exception):
    """The program ssh could not log in to the host, so no command was run."""


class OpensshLogin:
    """A second login to a host, made by an `ssh` process. `connections` are the open connections: first those to the
    jump hosts, then that to the host; they are `Any` because fabric has no types. `program` is the path of ssh.

    Raise OpensshRefused if ssh does not log in within LOGIN_LIMIT_S. The login has a temporary folder for its files,
    which only the user can enter. `close` ends the process and removes the folder."""

    def __init__(self, connections: Sequence[Any], program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hvdocker-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        files = LoginFiles(*(str(folder / name) for name in ("known_hosts", "agent", "control")))
        self.control = files.control
        self._process: SshProcess | None = None
        try:
            hops = describe_hops(connections)
            Path(files.known_hosts).write_text(known_hosts_text(hops), encoding="ascii")
            with agent_for(connections, files.agent):
                argv = login_arguments(program, hops, files)
                self._process = SshProcess(argv, subprocess.PIPE, subprocess.DEVNULL, subprocess.PIPE)
                self._wait(self._process, LOGIN_LIMIT_S)
        except BaseException:
            self.close()
            raise

    def _wait(self, process: SshProcess, limit_s: float) -> None:
        """Wait until the `ssh` process is logged in, which is when it creates its control socket. Raise OpensshRefused
        if the process ends before, or if `limit_s` seconds are over."""
        deadline = time.monotonic() + limit_s
        while not Path(self.control).exists():
            if process.has_ended:
                raise OpensshRefused(process.last_words() or "ssh ended")
            if time.monotonic() > deadline:
                raise OpensshRefused(f"no login in {limit_s:.0f} s")
            time.sleep(_LOOK_S)

    def why_lost(self) -> str | None:
        """Return why the connection was lost, or None if it still works. Called when a channel of this login ended too
        early. The method waits up to a second, because the login's process ends a moment later than its channels."""
        if self._process and self._process.ends_within(_LOST_LIMIT_S):
            return self._process.last_words() or "ssh ended"
        return None

    def close(self) -> None:
        if self._process:
            self._process.close()
        self._folder.cleanup()
