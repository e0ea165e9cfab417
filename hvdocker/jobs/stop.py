"""The verb `stop`: end a job on every host, gracefully, then by force. Works from any controller, even if the
job's master is gone. Takes no lock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import HostUnreachable, HvdockerError, raise_all
from hvdocker.inventory.locate import Located
from hvdocker.jobs import job_container
from hvdocker.jobs.lookup import FoundJob, find_job, observe_jobs
from hvdocker.jobs.secrets.plan import CLEAN_EXIT_CODES, steps_after_stop
from hvdocker.locks.owner import refuse_foreign_job, refuse_foreign_owner
from hvdocker.plan.plan import plan_of
from hvdocker.protocol.job_file import GRACE_S
from hvdocker.transport.session import connected

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class StopReport:
    """The result of the verb `stop`. `was_running` says whether anything of the job still ran. `ended` has, by host,
    the number of ranks that still ran without their master and were then ended. `troubles` has the errors of hosts on
    which ranks or the master may still run."""

    job: str
    was_running: bool
    ended: Mapping[str, int] = field(default_factory=dict)
    troubles: tuple[HvdockerError, ...] = ()

    def raise_errors(self) -> None:
        """Raise the errors in `troubles`, if there are any: the job may still run on some hosts."""
        raise_all(f"{self.job} could not be stopped everywhere", self.troubles)


def stop(env: Env, located: Located, wanted: str | None, is_forced: bool = False) -> StopReport:
    """Stop the job `wanted`, a job id or the beginning of one; None means the newest job. Return at once if its
    supervisor has ended by itself. If the supervisor was killed or is gone, end the ranks that it may have left.

    Raises HvdockerError if there is no such job, and for a job of another owner unless `is_forced`."""
    with connected(env, located, must_all=False) as session:
        found = find_job(env, located, observe_jobs(located, session), wanted)
        if found.master is None:
            refuse_foreign_owner(located.inventory, found.observed.state, env.maker().owner, is_forced)
            return _without_master(found)
        workers = tuple(found.observed.state.workers().values())
        was_running = found.master.is_living
        if not was_running and found.master.exit_code in CLEAN_EXIT_CODES:
            return StopReport(found.job, False)
        refuse_foreign_job(found.master, workers, env.maker().owner, is_forced)
        state = found.observed.state
        # A job has two masters if its head was cut off, the job was restarted on other hosts, and the head is back.
        for living in (master for master in state.running_jobs() if master.job == found.job):
            job_container.stop_job(found.observed.links[state.host_of(living)], living.name)
        remove_leftover_secrets(env, located, found)
        if job_container.read_job_end(found.link, found.master.name).exit_code in CLEAN_EXIT_CODES:
            return StopReport(found.job, was_running)
        # A killed supervisor may have left ranks on other hosts that have not noticed yet.
        ended, troubles = _end_orphan_ranks(found)
        return StopReport(found.job, was_running or bool(ended), ended, troubles)


def remove_leftover_secrets(env: Env, located: Located, found: FoundJob) -> None:
    """Remove the job's secrets from its containers if its supervisor was killed. Do nothing if the job has no secrets,
    or if the supervisor ended by itself, because it has then removed the secrets. No error is raised if the secrets
    cannot be removed from a container."""
    master = found.master
    if master is None or not master.secrets:
        return
    if job_container.read_job_end(found.link, master.name).exit_code in CLEAN_EXIT_CODES:
        return
    from hvdocker.plan.apply import Context, apply_all

    steps = steps_after_stop(found.head, master, tuple(found.observed.state.workers().values()))
    plan = plan_of("stop", located.inventory.cluster, ("secrets", steps))
    apply_all(plan, Context(located.inventory, found.observed.links, env.listener))


def _without_master(found: FoundJob) -> StopReport:
    ended, troubles = _end_orphan_ranks(found)
    away = found.observed.unreachable
    if not away:
        return StopReport(found.job, bool(ended), ended, troubles)
    return StopReport(found.job, bool(ended), ended, (*troubles, _master_unreachable(found)))


def _master_unreachable(found: FoundJob) -> HvdockerError:
    away = found.observed.unreachable
    head = next(iter(found.placement.hosts), "")
    is_known = head in away
    return HostUnreachable(
        f"the container of {found.job} {'is' if is_known else 'may be'} there, and could not be stopped",
        host=head if is_known else ", ".join(away),
        lines=[away[head].what] if is_known else [str(error) for error in away.values()],
        fix="ranks elsewhere end by themselves some 15 s after they lost their head; a host that is only cut "
        "off goes on with the job: run this again when it is back",
    )


def _end_orphan_ranks(found: FoundJob) -> tuple[dict[str, int], tuple[HvdockerError, ...]]:
    """End the job's ranks in the workers of all reachable hosts, in parallel. Used if the supervisor is gone. Return
    the number of ended ranks by host, without hosts that had none, and the errors of hosts where this failed."""
    from hvdocker.engine.container_exec import GracePeriod, end_ranks
    from hvdocker.transport.pool import for_each_host

    observed = found.observed
    workers = {name: one.name for name, one in observed.state.workers().items() if one.is_running}
    outcomes = for_each_host(
        workers, lambda name: end_ranks(observed.links[name], workers[name], found.job, GracePeriod(GRACE_S))
    )
    ended = {name: count for name, count in outcomes.done.items() if count}
    return ended, tuple(outcomes.failed.values())
