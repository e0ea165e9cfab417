"""Decide whether the head of a job is gone when the controller cannot reach it: the other hosts check whether the
head's sshd answers them. The error for a lost head shows the last lines of the ranks, from their logs on the other
hosts. Also fetches files and removes secrets after a job lost its head. With `--restarts`, training/relaunch.py
launches the job again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hvdocker import names
from hvdocker.engine.container_commands import check_sshd
from hvdocker.env import Env
from hvdocker.errors import HeadLost, HostUnreachable, HvdockerError
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.jobs.fetch import fetch_job_files, find_code
from hvdocker.jobs.log.rank_logs import RankLogTail, read_rank_log_tails, tail_rank_logs
from hvdocker.jobs.log.reconnect import Reconnect
from hvdocker.jobs.lookup import FoundJob
from hvdocker.jobs.secrets.plan import steps_after_head_loss
from hvdocker.observe.state import ClusterState
from hvdocker.plan.plan import plan_of
from hvdocker.transport.session import Session, connected, reopen_link

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# Last lines shown in the error: of each rank, and in total.
LINES_PER_RANK = 5
MAX_LINES = 20
GREETING_TIMEOUT_S = 5


@dataclass(frozen=True)
class JobHead:
    """The head of a job, with all that is needed to find out whether it is alive. `name` is the head's name in the
    inventory. The sshd in the head's worker listens at `address` and `port`. `folders` has the path of the job's folder
    by host."""

    job: str
    name: str
    address: str
    port: int
    folders: Mapping[str, str]


def head_of(found: FoundJob) -> JobHead | None:
    """Return the JobHead of a job that another command started, from the labels of the head's worker. Return None if
    that worker is gone or lacks the labels. Use it only if the master was found (`found.master` is not None)."""
    observed, worker = found.observed, found.observed.state.workers().get(found.head)
    address = worker.labels.get(names.LABEL_ADDRESS, "") if worker else ""
    port = worker.labels.get(names.LABEL_PORT, "") if worker else ""
    if not address or not port.isdecimal():
        return None
    seen = observed.state.hosts
    there = [name for name in found.placement.hosts if name in seen and seen[name].cluster_dir]
    folders = {name: observed.folder(name, found.job) for name in there}
    return JobHead(found.job, found.head, address, int(port), folders)


def reconnect_for(env: Env, located: Located, session: Session, found: FoundJob) -> Reconnect:
    """Return a Reconnect, which reopens a broken link to the job's head. For verbs that follow a job which they did not
    start (`logs`, `attach`)."""
    judge = partial(diagnose_head, env, located, head_of(found))
    return Reconnect(env, located, session, found.job, found.head, judge)


def diagnose_head(env: Env, located: Located, head: JobHead | None) -> HvdockerError | None:
    """Connect to the other hosts, let them check the head, and return the error that explains why the controller cannot
    reach the head. The error is HostUnreachable if another host reaches the head, so that the job goes on; otherwise it
    is HeadLost.

    Return None if the cause cannot be determined: `head` is None, or no other host could check. If no other host even
    answers, the controller itself seems to be offline."""
    if head is None:
        return None
    with _links_to_others(env, located, head.name) as links:
        return diagnose_from_hosts(located, head, links) if links else None


def diagnose_from_hosts(located: Located, head: JobHead, links: Mapping[str, HostLink]) -> HvdockerError | None:
    """Return the error that explains why the controller cannot reach the head, from what the other hosts see. `links`
    has the links to these hosts.

    Return HostUnreachable if another host reaches the head, so that the job goes on. Return HeadLost, with the last
    lines of ranks on these hosts, if hosts could check and none of them reaches the head. Return None if no host
    could check."""
    name = head.name
    heard = _which_reach_head(head, links, names.worker_name(located.inventory.cluster))
    witnesses = [host for host, does_hear in heard.items() if does_hear]
    if not heard:
        return None
    if witnesses:
        return HostUnreachable(
            f"the head {name} cannot be reached from here, but from {', '.join(witnesses)}: the job goes on",
            fix=f"watch it when the way there is mended: hvdocker logs -f {head.job}{located.flag}",
        )
    words = {host: _rank_log_tails(links[host], folder) for host, folder in head.folders.items() if host in links}
    starts = [one.start for there in words.values() for one in there if one.start is not None]
    return HeadLost(
        f"the head {name} does not answer: the job ended with it",
        restart=max(starts, default=0),
        lines=list(_last_lines_text(words))[:MAX_LINES],
        fix=f"when {name} is back: hvdocker up{located.flag}, then train again; or take it out of the "
        "inventory. With --restarts N train itself goes on with the other hosts",
    )


def head_was_down(head: str, restart: int = 0) -> HeadLost:
    """Return the error for a job that ended because its head went down, although the head is reachable again now.
    `head` is the name of that host. `restart` is how often the job had been restarted before."""
    return HeadLost(
        f"the head {head} went down while the job ran: the job ended with it",
        restart=restart,
        fix="run it again; with --restarts N train itself goes on with the other hosts",
    )


@contextmanager
def fetching_logs_on_head_loss(env: Env, located: Located, job: str) -> Iterator[None]:
    """If the `with` block raises HeadLost, fetch what the other hosts have of the job, then raise HeadLost again. Other
    exceptions pass unchanged.

    For verbs that cannot restart the job (`logs`, `attach`). The job's secrets stay on the hosts, because a `train` on
    another machine may need them to restart the job."""
    try:
        yield
    except HeadLost:
        clean_up_lost_job(env, located, job, has_secrets=False)
        raise


def clean_up_lost_job(env: Env, located: Located, job: str, has_secrets: bool) -> None:
    """Fetch what the reachable hosts have of a job that ended with its head, into .hvdocker/jobs/<job>. If that fails
    with an HvdockerError, send only a note.

    With `has_secrets` also remove the job's secrets, which rank wrappers kept for a restart. Set it only if the job
    is not restarted."""
    from hvdocker.observe.hosts import partial_state

    try:
        with connected(env, located, must_all=False) as session:
            state, _ = partial_state(located.inventory, session.links, False, session.links)
            links = {name: session.links[name] for name in state.hosts}
            if has_secrets:
                remove_secrets(env, located, links, state, job)
            _fetch_last_logs(env, located, links, state, job)
    except HvdockerError as error:
        env.listener(Event("note", f"its logs could not be brought home: {error}"))


def remove_secrets(env: Env, located: Located, links: Mapping[str, HostLink], state: ClusterState, job: str) -> None:
    """Remove the secrets of a job that lost its head from the hosts in `state`, over their links (`links`, by host). If
    that fails on a host, send only a note, because the lost head is the error to report."""
    from hvdocker.plan.apply import Context, apply_all

    plan = plan_of("train", located.inventory.cluster, ("secrets", steps_after_head_loss(state, job)))
    for error in apply_all(plan, Context(located.inventory, links, env.listener)):
        env.listener(Event("note", f"secrets of {job} may be left there: {error.what}", error.host))


def _fetch_last_logs(env: Env, located: Located, links: Mapping[str, HostLink], state: ClusterState, job: str) -> None:
    folder = located.jobs / job
    session = Session(dict(links), {})
    fetched = fetch_job_files(located, session, state, job, folder, find_code(session.links, state))
    if fetched.hosts:
        came = ", ".join(fetched.hosts)
        env.listener(Event("note", f"what {came} had of the job is in {folder}, last words in its logs/"))


@contextmanager
def _links_to_others(env: Env, located: Located, head: str) -> Iterator[Mapping[str, HostLink]]:
    """Yield new links, by host, to all reachable hosts of the inventory except the host `head`. They are closed at the
    end of the `with` block."""
    from hvdocker.transport.pool import for_each_host

    others = [host.name for host in located.inventory.hosts if host.name != head]
    links = for_each_host(others, partial(reopen_link, env, located)).done
    try:
        yield links
    finally:
        for link in links.values():
            link.close()


def _which_reach_head(head: JobHead, links: Mapping[str, HostLink], worker: str) -> dict[str, bool]:
    """Return, by host, whether the head's sshd answers that host. Hosts that could not check are left out.
    `worker` is the name of the worker container on each host."""
    from hvdocker.transport.pool import for_each_host

    return dict(for_each_host(links, lambda name: _reaches_head(links[name], head, worker)).done)


def _reaches_head(link: HostLink, head: JobHead, worker: str) -> bool:
    """Return whether the head's sshd answers the host of `link`.

    The link connects to the head from that host, over SSH by port forwarding. If the host's sshd forbids forwarding,
    the check runs in the host's worker container (`worker` is its name) instead, from which the job's ranks reach the
    head too."""
    from hvdocker.engine.container_exec import exec_in_container
    from hvdocker.observe.hosts import find_engine

    greeting = link.greeting(head.address, head.port, GREETING_TIMEOUT_S)
    if greeting is not None:
        return bool(greeting)
    find_engine(link)
    code, out, err = exec_in_container(link, worker, list(check_sshd(head.address, head.port, GREETING_TIMEOUT_S).argv))
    if code not in (0, 1):
        raise HvdockerError(f"{worker} could not ask for the head (exit {code})", lines=[out, err])
    return code == 0


def _rank_log_tails(link: HostLink, folder: str) -> list[RankLogTail]:
    try:
        return read_rank_log_tails(link.run(tail_rank_logs(folder, LINES_PER_RANK)).text)
    except HvdockerError:
        return []


def _last_lines_text(words: Mapping[str, list[RankLogTail]]) -> Iterator[str]:
    for host, there in words.items():
        for one in there:
            if one.lines:
                yield f"last words of rank {one.rank} on {host}:"
                yield from (f"  {line}" for line in one.lines[-LINES_PER_RANK:])
