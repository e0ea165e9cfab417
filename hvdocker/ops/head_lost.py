"""The head of a job does not answer. The other hosts are asked whether it is gone: whether they hear it, and
what the job's ranks there said last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from hvdocker.commands.rank_logs import LastWords, last_words, read_last_words
from hvdocker.errors import HeadLost, HostUnreachable, HvdockerError
from hvdocker.model.event import Event
from hvdocker.model.job import JobSpec
from hvdocker.ops.env import Env
from hvdocker.ops.fetch import bring_home
from hvdocker.ops.locate import Located
from hvdocker.ops.session import Session, connected, reopened

if TYPE_CHECKING:
    from hvdocker.hosts.link import HostLink

# Of every rank, and of all of them together.
LINES_OF_A_RANK = 5
MOST_LINES = 20
GREETING_S = 5.0


def judge_head(env: Env, located: Located, job: JobSpec, folders: Mapping[str, str]) -> HvdockerError | None:
    """None where nobody answers: then this machine is the one that is cut off. `folders` are the job's."""
    with _others(env, located, job.placement.head) as links:
        return judged(located, job, folders, links) if links else None


def judged(
    located: Located, job: JobSpec, folders: Mapping[str, str], links: Mapping[str, HostLink]
) -> HvdockerError:
    """By what the other hosts tell."""
    head = job.placement.head
    witnesses = _hearing(job, links)
    if witnesses:
        return HostUnreachable(
            f"the head {head} cannot be reached from here, but from {', '.join(witnesses)}: the job goes on",
            fix=f"watch it when the way there is mended: hvdocker logs -f {job.job}{located.flag}",
        )
    words = {name: _words(links[name], folders[name]) for name in folders if name in links}
    starts = [one.start for there in words.values() for one in there if one.start is not None]
    return HeadLost(
        f"the head {head} does not answer: the job ended with it",
        restart=max(starts, default=0),
        lines=list(_told(words))[:MOST_LINES],
        fix=f"when {head} is back: hvdocker up{located.flag}, then train again; or take it out of the "
        "inventory. With --restarts N train itself goes on with the other hosts",
    )


def keep_last_logs(env: Env, located: Located, job: str) -> None:
    """What the hosts that answer have of the job comes home; as far as that goes."""
    from hvdocker.hosts.observe import partial_state

    try:
        with connected(env, located, must_all=False) as session:
            state, _ = partial_state(located.inventory, session.links, False, session.links)
            links = {name: session.links[name] for name in state.hosts}
            folder = located.jobs / job
            fetched = bring_home(located, Session(links, {}), state, job, folder)
    except HvdockerError as error:
        env.listener(Event("note", f"its logs could not be brought home: {error}"))
        return
    if fetched.hosts:
        came = ", ".join(fetched.hosts)
        env.listener(Event("note", f"what {came} had of the job is in {folder}, last words in its logs/"))


@contextmanager
def _others(env: Env, located: Located, head: str) -> Iterator[Mapping[str, HostLink]]:
    from hvdocker.hosts.pool import each

    names = [host.name for host in located.inventory.hosts if host.name != head]
    links = each(names, partial(reopened, env, located)).done
    try:
        yield links
    finally:
        for link in links.values():
            link.close()


def _hearing(job: JobSpec, links: Mapping[str, HostLink]) -> list[str]:
    """Those to whom the sshd of the head's worker still answers."""
    from hvdocker.hosts.pool import each

    address = job.addresses[job.placement.head]
    heard = each(links, lambda name: links[name].greeting(address, job.port, GREETING_S)).done
    return [name for name, greeting in heard.items() if greeting]


def _words(link: HostLink, folder: str) -> list[LastWords]:
    try:
        return read_last_words(link.run(last_words(folder, LINES_OF_A_RANK)).text)
    except HvdockerError:
        return []


def _told(words: Mapping[str, list[LastWords]]) -> Iterator[str]:
    for host, there in words.items():
        for one in there:
            if one.lines:
                yield f"last words of rank {one.rank} on {host}:"
                yield from (f"  {line}" for line in one.lines[-LINES_OF_A_RANK:])
