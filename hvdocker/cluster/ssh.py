"""The verb ssh: builds the command line that opens a shell in the worker on a host, or on the host itself.

That command line then replaces the hvdocker process. Mostly it runs OpenSSH's client, which handles terminals. `ssh`
needs the docker program on a host; other verbs need it only if they cannot use the engine's socket."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.cluster.exec import workers_of
from hvdocker.engine.container_commands import interactive_shell
from hvdocker.env import Env
from hvdocker.errors import HostUnfit, HvdockerError, UsageProblem, raise_all
from hvdocker.inventory.inventory import Host
from hvdocker.inventory.locate import Located
from hvdocker.inventory.select_hosts import select_named_hosts
from hvdocker.jobs.lookup import observe_jobs
from hvdocker.shell.command import Command, shell
from hvdocker.transport.session import connected
from hvdocker.transport.ssh.command_line import ssh_words
from hvdocker.transport.ssh.framing import login_shell_line

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink


def machine_argv(env: Env, located: Located, name: str, rest: tuple[str, ...], has_terminal: bool) -> tuple[str, ...]:
    """Return the ssh command line that runs the command `rest`, or a shell if `rest` is empty, on the host `name`
    itself.

    With `has_terminal` the command gets a terminal. Raises UsageProblem for a worker of a local cluster, because its
    host is this machine."""
    host = _named_host(located, name)
    if host.is_local:
        raise UsageProblem(f"{name} is a worker on this very machine", fix=f"hvdocker ssh {name}, without --machine")
    return _through_ssh(host, rest, has_terminal)


def worker_argv(env: Env, located: Located, name: str, rest: tuple[str, ...], has_terminal: bool) -> tuple[str, ...]:
    """Return the command line that runs `rest`, or a shell if `rest` is empty, in the worker of the host `name`.

    With `has_terminal` the command gets a terminal. Connects to the host first, and raises HvdockerError if its worker
    does not run."""
    host = _named_host(located, name)
    alone = replace(located, inventory=replace(located.inventory, hosts=(host,)))
    with connected(env, alone, must_all=False) as session:
        observed = observe_jobs(alone, session)
        workers, missing = workers_of(env, alone, observed, (name,))
        raise_all("the host cannot be reached", missing)
        docker = _docker_argv(session.links[name], host, bool(observed.state.hosts[name].needs_sudo))
    terminal = ("-it",) if has_terminal else ("-i",)
    words = (*docker, "exec", *terminal, "-w", names.CODE_MOUNT, workers[name], *(rest or interactive_shell()))
    return words if host.is_local else _through_ssh(host, words, has_terminal)


def replace_process(words: tuple[str, ...]) -> None:
    """Replace this process by the command line `words`, so that this function does not return.

    Raises HvdockerError if the program is not installed."""
    from hvdocker.transport.local_process import exec_program as turn_into

    try:
        turn_into(words)
    except FileNotFoundError as error:
        package = "openssh-client" if words[0] == "ssh" else "docker.io"
        raise HvdockerError(
            f"this machine has no {words[0]} program",
            command=f"command -v {words[0]}",
            lines=[f"{words[0]} is not on the PATH"],
            fix=f"sudo apt-get install {package}",
        ) from error


def _named_host(located: Located, name: str) -> Host:
    select_named_hosts(located.inventory, (name,))
    return located.inventory.named(name)


def _through_ssh(host: Host, words: tuple[str, ...], has_terminal: bool) -> tuple[str, ...]:
    """Return the ssh command line that runs the command `words` on the host, or a shell if `words` is empty.

    With `has_terminal` the command gets a terminal. For a shell, ssh itself decides whether it gets one. The command
    becomes one quoted argument, because OpenSSH joins several arguments with blanks and does not quote them."""
    ssh, *rest = ssh_words(host)
    terminal = ("-t",) if has_terminal and words else ()
    # The login shell may be any, such as fish.
    line = (login_shell_line(Command(words).line()).decode(),) if words else ()
    return (ssh, *terminal, *_ssh_file_options(), *rest, *line)


def _ssh_file_options() -> tuple[str, ...]:
    """Return the ssh options that name the SSH config and known_hosts file below $HOME.

    The options are needed only if $HOME is not the user's home folder in passwd: OpenSSH ignores $HOME, but the other
    verbs use it. Otherwise the result is empty."""
    from hvdocker.transport.local_process import home_override

    home = home_override()
    if home is None:
        return ()
    config, known = home / ".ssh" / "config", home / ".ssh" / "known_hosts"
    return (*(("-F", str(config)) if config.is_file() else ()), "-o", f"UserKnownHostsFile={known}")


def _docker_argv(link: HostLink, host: Host, needs_sudo: bool) -> tuple[str, ...]:
    """Return the first words of a docker command line for the host's engine, such as `sudo -n docker`.

    Raises HostUnfit if a remote host has no docker program. This is not checked if docker needs sudo."""
    if host.is_local:
        return ("docker",)
    argv: tuple[str, ...] = getattr(link, "docker_argv", ("docker",))
    if needs_sudo:
        return argv
    asked = shell("command -v docker")
    if link.run(asked).code != 0:
        raise HostUnfit(
            "there is no docker program on the host",
            host=host.name,
            command=link.pasteable(asked),
            lines=["the engine answers, but a terminal in a container needs docker's own program"],
            fix=f"install it there, or do without a terminal: hvdocker exec --host {host.name} -- …",
        )
    return argv
