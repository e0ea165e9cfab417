"""Runs and ends commands in running containers, through the engine's API."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from docker import APIClient

from hvdocker.engine import archive
from hvdocker.engine.container_commands import EXEC_VARIABLE, ranks_folder, signal_exec, signal_ranks
from hvdocker.errors import HvdockerError
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink

# The interval between checks whether signalled processes have ended.
_POLL_S = 0.3

# Called with a piece of output, and whether it is from standard error.
OnOutput = Callable[[bytes, bool], None]


@dataclass(frozen=True)
class GracePeriod:
    """How long processes may run after SIGTERM before they get SIGKILL (`grace_s`, in seconds). `clock` measures this
    time, and `sleep` waits; tests replace both."""

    grace_s: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class ContainerCommand:
    """A command to run in a container. `workdir` is the folder in the container in which the command starts. `token` is
    a text of the caller's choice that no other command has. It is put into the environment of the command, so that
    `end_exec` can find and end the command's processes."""

    argv: tuple[str, ...]
    workdir: str
    token: str


def stream_in_container(link: HostLink, container: str, what: ContainerCommand, on_piece: OnOutput) -> int:
    """Run the command `what` to its end, as the container's user and without standard input; return its exit code.

    `on_piece` gets each piece of output as it arrives, and whether it is from standard error. Raises HvdockerError if
    the engine does not report an exit code: then the command may still run."""
    with translating_errors(link.name, f"running a command in {container}"):
        engine = link.engine()
        made = engine.exec_create(
            container, list(what.argv), workdir=what.workdir, environment={EXEC_VARIABLE: what.token}
        )["Id"]
        for out, err in engine.exec_start(made, stream=True, demux=True):
            on_piece(out or err or b"", err is not None)
        code: int | None = engine.exec_inspect(made)["ExitCode"]
    if code is None:
        raise HvdockerError("the engine let go of a command before its end: it may still run", host=link.name)
    return code


def end_exec(link: HostLink, container: str, token: str, grace_period: GracePeriod) -> None:
    """End all processes of the ContainerCommand with this token: send SIGTERM, and SIGKILL to those that still run
    after the grace period (`grace_period`). Do nothing if none runs."""

    def signal(number: str) -> list[int]:
        return _numbers(exec_in_container(link, container, list(signal_exec(number, token).argv))[1])

    _end_processes(signal, grace_period)


def end_ranks(link: HostLink, container: str, job: str, grace_period: GracePeriod) -> int:
    """End the ranks of a job that run in a container: send SIGTERM, and SIGKILL to those that still run after the grace
    period (`grace_period`). Return how many ranks were running, 0 if none."""
    pids = _rank_pids(link, container, job)

    def signal(number: str) -> list[int]:
        return _numbers(exec_in_container(link, container, list(signal_ranks(number, job, pids).argv))[1])

    return _end_processes(signal, grace_period) if pids else 0


def _end_processes(signal: Callable[[str], list[int]], grace_period: GracePeriod) -> int:
    found = signal("TERM")
    deadline = grace_period.clock() + grace_period.grace_s
    left = found
    while left and grace_period.clock() < deadline:
        grace_period.sleep(_POLL_S)
        left = signal("0")
    if left:
        signal("KILL")
    return len(found)


def _rank_pids(link: HostLink, container: str, job: str) -> list[int]:
    with translating_errors(link.name, f"looking for ranks of {job}"):
        texts = archive.read_texts(link.engine(), container, ranks_folder(job))
    return [pid for pid in map(_pid, texts.values()) if pid > 1]


def _pid(text: str) -> int:
    try:
        found = json.loads(text)["pid"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def _numbers(text: str) -> list[int]:
    return [int(line) for line in text.split() if line.isdigit()]


def exec_in_container(link: HostLink, container: str, argv: list[str]) -> tuple[int, str, str]:
    """Run a short command in a running container; return its exit code, standard output and standard error. A command
    that exits non-zero raises nothing; an error of the engine or the link raises HvdockerError."""
    with translating_errors(link.name, f"running {argv[0].rpartition('/')[2]} in {container}"):
        engine = link.engine()
        made = engine.exec_create(container, argv)["Id"]
        out, err = engine.exec_start(made, demux=True)
        code: int = engine.exec_inspect(made)["ExitCode"]
    return code, (out or b"").decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace")


def exec_output(engine: APIClient, container: str, argv: list[str]) -> tuple[int, str]:
    """Run a command in a running container; return its exit code, and its standard output and standard error as one
    text.

    Exceptions of the engine are not translated here. Only actions of plan steps use this function, and the code that
    carries out a plan translates the exceptions of all actions."""
    made = engine.exec_create(container, argv)["Id"]
    output: bytes = engine.exec_start(made)
    return engine.exec_inspect(made)["ExitCode"], output.decode("utf-8", "replace")
