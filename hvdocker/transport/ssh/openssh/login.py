"""An `ssh` process that is logged in to a host. Other `ssh` processes use its connection."""

from __future__ import annotations

import re
import secrets
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
# The time for the start-up files of the login shell, after that.
SHELL_LIMIT_S = 15.0
_LOOK_S = 0.005
_LOST_LIMIT_S = 1.0
# In the settings of ssh, other characters separate words, or begin a token or a variable.
_PLAIN_PATH = re.compile(r"[\w/.,+-]+", re.ASCII)
# The path of a socket has at most 103 characters on macOS, and ssh appends 17 at first.
_MOST_CHARACTERS = 60


class OpensshRefused(Exception):
    """The program ssh could not log in to the host, so no command was run."""


class OpensshLogin:
    """A login to the host of the open `connections` (those to its jump hosts, then its own), with `program`, the path
    of ssh. Raise OpensshRefused if ssh does not log in within LOGIN_LIMIT_S, or if the host then runs no command.

    The login has a temporary folder for its files,
    which only the user can enter. `close` ends the process and removes the folder."""

    def __init__(self, connections: Sequence[Any], program: str) -> None:
        parent = folder_for_sockets(tempfile.gettempdir())
        self._folder = tempfile.TemporaryDirectory(prefix="hvdocker-", dir=parent, ignore_cleanup_errors=True)
        files = LoginFiles(self._folder.name)
        self.control = files.control
        self._process: SshProcess | None = None
        try:
            hops = describe_hops(connections)
            Path(files.known_hosts).write_text(known_hosts_text(hops), encoding="ascii")
            with agent_for(connections, files.agent):
                argv = login_arguments(program, hops, files)
                self._process = SshProcess(argv, subprocess.PIPE, subprocess.PIPE)
                self._wait(self._process, LOGIN_LIMIT_S)
            self._try_shell(self._process, SHELL_LIMIT_S)
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

    def _try_shell(self, process: SshProcess, limit_s: float) -> None:
        """Wait until the login shell has run a command. A host may accept a login and end it at once, for example
        because the user may have only one."""
        if not process.echoes(secrets.token_hex(8).encode() + b"\n", limit_s):
            raise OpensshRefused(process.last_words() or "the login shell ran no command")

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


def folder_for_sockets(wanted: str) -> str:
    """Return the folder `wanted` for temporary files if ssh can use sockets in it: its path is short, and has no
    character that means something in the settings of ssh. Otherwise return /tmp."""
    return wanted if len(wanted) <= _MOST_CHARACTERS and _PLAIN_PATH.fullmatch(wanted) else "/tmp"
