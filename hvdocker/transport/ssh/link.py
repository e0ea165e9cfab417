"""The link to a remote host: one fabric connection, whose channels carry commands, files and the Docker API.

A large upload goes through an `ssh` process, which makes a second connection (`openssh/`)."""

from __future__ import annotations

import contextlib
import secrets
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import paramiko

from hvdocker.errors import CommandTimeout, HostUnfit, HvdockerError
from hvdocker.inventory.inventory import Host
from hvdocker.shell.command import Command
from hvdocker.transport.errors import connection_lost, translating_errors
from hvdocker.transport.link import COMMAND_TIMEOUT_S, CommandResult, LargeInput
from hvdocker.transport.ssh.channel import HostChannel, open_session, open_unix_channel
from hvdocker.transport.ssh.command_line import ssh_words
from hvdocker.transport.ssh.connect import TCP_TIMEOUT_S, Credentials, SshRoute, connect
from hvdocker.transport.ssh.connect_errors import connecting
from hvdocker.transport.ssh.framing import Frame, FrameError
from hvdocker.transport.ssh.openssh.openssh import OpensshChannels
from hvdocker.transport.ssh.remote_command import CommandChannel, RemoteCommand

if TYPE_CHECKING:
    # At run time the SDK is imported while the hosts are being connected to.
    from docker import APIClient

_CHUNK = 1 << 18
_NOT_FOUND = 127  # exit code of a shell that does not find a program
# The fix if sshd forbids channels to Unix sockets and the host has no docker CLI to use instead.
_NO_WAY_FIX = (
    "on the host: sudo apt-get install docker.io (its docker CLI), "
    "or AllowStreamLocalForwarding yes in sshd_config and sudo systemctl restart ssh"
)
_REFUSED = 2  # RFC 4254: nothing listens there; any other code means that this sshd does not forward


@dataclass(frozen=True)
class EngineAccess:
    """How the SSH user reaches the engine that listens on `socket`: through a forwarded channel, or, with `uses_cli`,
    through `docker system dial-stdio` on the host. `needs_sudo` means that the docker program is run with `sudo -n`,
    which never asks for a password. `has_cli` says whether the host has the docker program."""

    socket: str = "/var/run/docker.sock"
    uses_cli: bool = False
    needs_sudo: bool = False
    has_cli: bool = False


class SshLink:
    """A HostLink over SSH. In addition to the methods of a HostLink, it says which user and key logged in, and how the
    host and its engine are reached."""

    def __init__(self, host: Host, connection: Any, route: SshRoute) -> None:
        """Use an open fabric connection to `host`. `route` has the connections to its jump hosts, which are closed
        with the link. `connection` is `Any` because fabric has no types."""
        self.name = host.name
        self._host = host
        self._connection = connection
        self._route = route
        # The usual socket, so that the engine can be queried while the probe still looks for the actual one.
        self._access = EngineAccess()
        self._engine: APIClient | None = None
        self._openssh = OpensshChannels(host.name, lambda: [*route.jumps, connection])

    @property
    def _transport(self) -> paramiko.Transport:
        return self._connection.transport  # type: ignore[no-any-return]  # fabric is untyped

    @property
    def login(self) -> str:
        """The user and the key that the host accepted, for display, such as `kim, key /home/kim/.ssh/id_ed25519`."""
        return str(self._connection.connect_kwargs["auth_strategy"].accepted)

    @property
    def reached_at(self) -> str:
        """Where the host was reached, such as `10.0.0.5:22` or `10.0.0.5:22 through kim@jump:22`. Empty if that is not
        known, because a ProxyCommand makes the connection."""
        hop = self._route.hop
        if hop is None or hop.proxy_for:
            return ""
        return f"{hop.target} through {hop.through}" if hop.through else hop.target

    @property
    def needs_sudo(self) -> bool:
        return self._access.needs_sudo

    @property
    def docker_argv(self) -> tuple[str, ...]:
        """The docker command for this engine, such as ("docker", "-H", "unix:///var/run/docker.sock"), with sudo if
        the engine needs it. The socket is named, because the docker context that is current on the host may be the
        engine of another machine."""
        docker = ("docker", "-H", f"unix://{self._access.socket}")
        return ("sudo", "-n", *docker) if self._access.needs_sudo else docker

    @property
    def _dial_command(self) -> Command:
        return Command((*self.docker_argv, "system", "dial-stdio"))

    def use_engine(self, access: EngineAccess) -> bool:
        """Use `access` from now on to reach the engine. Return whether its `socket` and `uses_cli` are the same as
        before. If not, the client of the engine is closed, and the next call of `engine` opens a new one."""
        is_same = (access.socket, access.uses_cli) == (self._access.socket, self._access.uses_cli)
        self._access = access
        if not is_same and self._engine is not None:
            self._engine.close()
            self._engine = None
        return is_same

    def run(
        self, command: Command, stdin: Iterable[bytes] | None = None, timeout_s: float | None = COMMAND_TIMEOUT_S
    ) -> CommandResult:
        with translating_errors(self.name, "running a command"):
            output: list[bytes] = []
            with self._started(command, stdin, timeout_s if stdin is None else None) as running:
                output.extend(running.output())
                code = self._end(command, running)
            return CommandResult(command, code, b"".join(output), running.errors)

    @contextlib.contextmanager
    def _started(
        self, command: Command, stdin: Iterable[bytes] | None, silence_s: float | None
    ) -> Iterator[RemoteCommand]:
        """Start a command, and close its channel after the `with` block. `stdin` are the bytes of its standard input;
        None means empty input. A command that prints nothing on standard output for `silence_s` raises CommandTimeout
        (None: no limit)."""
        frame = _new_frame()
        running = self._through_openssh(frame, command, stdin) if isinstance(stdin, LargeInput) else None
        if running is None:
            running = RemoteCommand(self._exec(frame.line(command), silence_s), frame, stdin)
        try:
            yield running
        except TimeoutError as error:
            if silence_s is None:
                raise
            raise CommandTimeout(
                f"a command printed nothing for {silence_s:.0f} s", host=self.name, command=self.pasteable(command)
            ) from error
        finally:
            running.close()

    def _through_openssh(self, frame: Frame, command: Command, stdin: LargeInput) -> RemoteCommand | None:
        """Start a command through an `ssh` process, and return it. Return None if the process cannot be used or is not
        worth its login; the caller then sends the input over the open connection. `frame` marks the output of the
        command."""
        with stdin.path.open("rb") if stdin.path else contextlib.nullcontext() as file:
            channel = self._openssh.open_for(stdin.size, stdin.streams, frame, frame.coded_line(command), file)
        if channel is None:
            return None
        return RemoteCommand(channel, frame, channel.watch_file(stdin.on_sent) if stdin.path else stdin)

    def _end(self, command: Command, running: RemoteCommand) -> int:
        """Return the exit code of a command whose output was read to its end. Raise HostUnreachable if the connection
        was lost, HostUnfit if the login shell did not run the command, and HvdockerError if the output was cut off
        although the command succeeded."""
        code = running.finish()
        if code == -1 and (running.is_lost or not self._transport.is_active()):
            raise connection_lost(self.name, "a command was cut off", EOFError("the connection closed"))
        if running.missing:
            self._raise_if_not_run(command, running.missing, code, running.errors)
        return code

    def _raise_if_not_run(self, command: Command, missing: FrameError, code: int, errors: bytes) -> None:
        """Handle the output of a command in which a mark of the frame is missing (`missing`). Raise HostUnfit if the
        login shell did not run the command, and HvdockerError if the output was cut off although the command succeeded.

        Return if the command failed after it began: a command that was killed prints no last mark, and its exit `code`
        says so. `errors` is what arrived on standard error."""
        if missing.printed is None:
            if code != 0:
                return
            raise HvdockerError("the output of a command was cut off", host=self.name, command=self.pasteable(command))
        said = (errors.strip() or missing.printed.strip()).decode("utf-8", "replace").splitlines()[-10:]
        raise HostUnfit(
            f"the login shell did not run a command (exit {code})",
            host=self.name,
            command=self.pasteable(Command(("true",))),
            lines=said,
            fix="the SSH user needs a login shell that runs commands, a POSIX sh on its PATH, and start-up files "
            "(such as ~/.bashrc) that do not call exit, or exec another shell, where nobody is at a terminal",
        )

    def stream(self, command: Command, stdin: Iterable[bytes] | None = None) -> Iterator[bytes]:
        with (
            translating_errors(self.name, "reading from a command"),
            self._started(command, stdin, COMMAND_TIMEOUT_S) as running,
        ):
            yield from running.output()
            code = self._end(command, running)
        if code != 0:
            lines = running.errors.decode("utf-8", "replace").splitlines()[-10:]
            raise HvdockerError(
                f"a command failed (exit {code})", host=self.name, command=self.pasteable(command), lines=lines
            )

    def engine(self) -> APIClient:
        if self._engine is None:
            with translating_errors(self.name, "opening the engine's API"):
                self._engine = self._open_engine()
        return self._engine

    def _open_engine(self) -> APIClient:
        """Return a new client of the engine's API. Raise HostUnfit if the SSH connection works but no engine answers.
        If the connection is lost, raise the exception of paramiko or requests."""
        from requests.exceptions import RequestException

        from hvdocker.transport.docker_api import engine_client

        try:
            return engine_client(self._dial)
        except (RequestException, paramiko.ChannelException) as error:
            if not self._transport.is_active():
                raise
            words = Command((*self.docker_argv, "version"))
            ended = self.run(words)
            raise HostUnfit(
                "the Docker engine does not answer",
                host=self.name,
                command=self.pasteable(words),
                lines=ended.tail(3) or [str(error)],
                fix=_NO_WAY_FIX if ended.code == _NOT_FOUND else "is it running? sudo systemctl start docker",
            ) from error

    @contextlib.contextmanager
    def upload_engine(self, size: int, streams: int = 1) -> Iterator[APIClient]:
        with contextlib.ExitStack() as stack:
            yield self._engine_through_openssh(size, streams, stack) or self.engine()

    def _engine_through_openssh(self, size: int, streams: int, stack: contextlib.ExitStack) -> APIClient | None:
        """Return a client of the engine that uses `docker system dial-stdio` in an `ssh` process. The client and the
        process are closed with `stack`.

        Return None if that is impossible or not worth the login. `size` is the number of bytes to upload, and `streams`
        the number of hosts, including this one, that receive an upload of this size at the same time."""
        from requests.exceptions import RequestException

        from hvdocker.transport.docker_api import engine_client

        frame = _new_frame()
        line = frame.open_line(self._dial_command)
        with contextlib.ExitStack() as opened:
            try:
                channel = self._openssh.open_for(size, streams, frame, line) if self._access.has_cli else None
                if channel is None:
                    return None
                opened.callback(channel.close)
                first = [channel.socket]
                _read_mark(channel, frame)
                client = engine_client(lambda: first.pop() if first else self._dial())
            except (RequestException, paramiko.ChannelException, OSError) as error:
                self._openssh.give_up(f"no engine answers: {error}")
                return None
            opened.callback(client.close)
            stack.push(opened.pop_all())
        return client

    def greeting(self, address: str, port: int, timeout_s: float) -> bytes | None:
        try:
            channel = self._transport.open_channel("direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=timeout_s)
        except paramiko.ChannelException as error:
            return b"" if error.code == _REFUSED else None
        except paramiko.SSHException as error:
            if not self._transport.is_active():
                raise connection_lost(self.name, f"asking for {address}", error) from error
            # The timeout: the host is still trying to connect.
            return b""
        try:
            channel.settimeout(timeout_s)
            return channel.recv(64)
        except TimeoutError:
            return b""
        finally:
            channel.close()

    def pasteable(self, command: Command) -> str:
        return shlex.join((*ssh_words(self._host), command.line()))

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._connection.close()
        self._route.close()

    def _exec(self, line: bytes, timeout_s: float | None) -> HostChannel:
        channel = open_session(self._transport)
        channel.settimeout(timeout_s)
        words: Any = line  # Any: paramiko also accepts bytes
        channel.exec_command(words)
        return channel

    def _dial(self) -> HostChannel:
        if not self._access.uses_cli:
            try:
                return open_unix_channel(self._transport, self._access.socket)
            except paramiko.ChannelException:
                if not self._access.has_cli:
                    raise
                # This sshd denies streamlocal forwarding (its answer is the same as for a dead engine). Use
                # the docker CLI there instead, which prints the reason if it fails too.
                self._access = replace(self._access, uses_cli=True)
        return self._dial_through_cli()

    def _dial_through_cli(self) -> HostChannel:
        """Return a channel to the engine through `docker system dial-stdio` on the host. Used if sshd forbids a
        channel to the engine's socket, or if only root may open the socket. Raise ChannelException if the host did not
        run the program."""
        frame = _new_frame()
        channel = self._exec(frame.open_line(self._dial_command), COMMAND_TIMEOUT_S)
        _read_mark(channel, frame)
        return channel


def _read_mark(channel: CommandChannel, frame: Frame) -> None:
    """Read from the channel until the first mark of `frame` has arrived, which shows that the host's shell runs `docker
    system dial-stdio`. Raise ChannelException if the output ends without the mark."""
    printed = b""
    while frame.start not in printed:
        chunk = channel.recv(_CHUNK)
        if not chunk:
            raise paramiko.ChannelException(0, "the host's shell did not run docker system dial-stdio")
        printed += chunk


def open_ssh(host: Host, credentials: Credentials | None = None) -> SshLink:
    """Connect to a host and return the link. If that fails, raise HostUnreachable, which names the failed phase, a
    command to try by hand and a fix.

    `credentials` are shared by all hosts of a command. None makes new credentials for this host only."""
    route = SshRoute(credentials or Credentials())
    try:
        with connecting(host.name, lambda: route.hop, TCP_TIMEOUT_S):
            return SshLink(host, connect(host, route), route)
    except BaseException:
        route.close()
        raise


def _new_frame() -> Frame:
    return Frame(secrets.token_hex(8))
