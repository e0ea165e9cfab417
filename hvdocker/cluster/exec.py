"""The verb exec: runs one command in the workers of all hosts, or of some, in parallel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hvdocker import names
from hvdocker.env import Env
from hvdocker.errors import HostErrors, HvdockerError, raise_all
from hvdocker.inventory.locate import Located, cluster_flag
from hvdocker.inventory.select_hosts import select_named_hosts
from hvdocker.jobs.lookup import JobsSeen, observe_jobs
from hvdocker.locks.owner import refuse_foreign_owner
from hvdocker.protocol.output import LineAssembler
from hvdocker.transport.session import connected

GRACE_S = 5.0

# Called with host, line, and whether the line is from standard error.
OnHostLine = Callable[[str, str, bool], None]


@dataclass(frozen=True)
class ExecReport:
    """The result of the verb `exec`. `codes` are the exit codes of the command, by host.

    `troubles` are the errors of hosts on which the command did not run, or not to its end. `asked_hosts` are the hosts
    that the user named. If the user named none, they are all hosts that have a running worker or an error."""

    asked_hosts: tuple[str, ...]
    codes: Mapping[str, int]
    troubles: tuple[HvdockerError, ...] = ()

    @property
    def code(self) -> int:
        """The exit code of the command, if one host was asked and the command ran there; otherwise 0.

        Failures that this code does not show are raised by `raise_errors`."""
        return self.codes.get(self.asked_hosts[0], 0) if len(self.asked_hosts) == 1 else 0

    def raise_errors(self) -> None:
        """Raise HvdockerError if the command could not run on some host.

        If several hosts were asked, also raise it if the command had an exit code other than 0 on any of them."""
        failed = [
            HvdockerError(f"exit code {code}", host=host)
            for host, code in self.codes.items()
            if code and len(self.asked_hosts) > 1
        ]
        if self.troubles and not failed:
            raise_all("the command could not be run everywhere", self.troubles)
        if failed or self.troubles:
            raise HostErrors("the command failed on some hosts", (*failed, *self.troubles))


def execute(
    env: Env,
    located: Located,
    argv: tuple[str, ...],
    hosts: Iterable[str],
    on_line: OnHostLine,
    is_forced: bool = False,
) -> ExecReport:
    """Run the command `argv` in the workers of `hosts`, or of all hosts if `hosts` is empty.

    `on_line` is called for each output line, with the host, the line, and whether the line is from standard error.
    Ctrl-C also ends the command and its child processes on the hosts: they are found by a token in their environment.
    If the link to a host is lost, the command goes on there. Raises HvdockerError if another user owns the cluster,
    unless `is_forced`."""
    named = select_named_hosts(located.inventory, hosts)
    with connected(env, located, must_all=False) as session:
        observed = observe_jobs(located, session)
        refuse_foreign_owner(located.inventory, observed.state, env.maker().owner, is_forced)
        workers, missing = workers_of(env, located, observed, named)
        outcomes = _run_on_hosts(env, observed, workers, argv, on_line)
    asked = named or (*workers, *(error.host or "?" for error in missing))
    return ExecReport(asked, outcomes[0], (*missing, *outcomes[1]))


def workers_of(
    env: Env, located: Located, observed: JobsSeen, named: tuple[str, ...]
) -> tuple[dict[str, str], tuple[HvdockerError, ...]]:
    """Return the container names of running workers by host, and one error for each host without a running worker.

    `observed` has the workers, and the errors of hosts that could not be observed. `named` are the hosts that the user
    named; empty means all hosts. A host that the user did not name needs no worker if the cluster was made for a number
    of slots (`up -np 6`) and other hosts have all of these. Such a host is no error."""
    from hvdocker.placement.scope import is_complete

    has_all = is_complete(located.inventory, observed.state)
    found = observed.state.workers()
    workers: dict[str, str] = {}
    missing: list[HvdockerError] = []
    for host in located.inventory.hosts:
        name, worker = host.name, found.get(host.name)
        if named and name not in named:
            continue
        if worker and worker.is_running:
            workers[name] = worker.name
        elif not named and has_all:
            continue
        elif name in observed.failed:
            missing.append(observed.failed[name])
        else:
            missing.append(_no_worker(env, located, name, worker.state if worker else ""))
    return workers, tuple(missing)


def _no_worker(env: Env, located: Located, name: str, state: str) -> HvdockerError:
    what = f"its worker does not run: it is {state}" if state else "it has no worker"
    return HvdockerError(what, host=name, fix=f"hvdocker up{cluster_flag(env, located)} makes one")


def _run_on_hosts(
    env: Env, observed: JobsSeen, workers: Mapping[str, str], argv: tuple[str, ...], on_line: OnHostLine
) -> tuple[Mapping[str, int], tuple[HvdockerError, ...]]:
    from hvdocker.engine.container_exec import ContainerCommand, GracePeriod, end_exec, stream_in_container
    from hvdocker.transport.pool import for_each_host

    what = ContainerCommand(argv, names.CODE_MOUNT, env.entropy(8).hex())
    # Each host has a thread. The lock makes sure that `on_line` is called for one line at a time.
    at_once = threading.Lock()

    def run(name: str) -> int:
        out, err = LineAssembler(), LineAssembler()

        def take(lines: Iterable[str], is_error: bool) -> None:
            for line in lines:
                with at_once:
                    on_line(name, line, is_error)

        code = stream_in_container(
            observed.links[name],
            workers[name],
            what,
            lambda data, is_error: take((err if is_error else out).feed(data), is_error),
        )
        take(out.flush(), False)
        take(err.flush(), True)
        return code

    def end() -> None:
        for_each_host(
            workers, lambda name: end_exec(observed.links[name], workers[name], what.token, GracePeriod(GRACE_S))
        )

    outcomes = for_each_host(workers, run, on_interrupt=end)
    return outcomes.done, tuple(outcomes.failed.values())
