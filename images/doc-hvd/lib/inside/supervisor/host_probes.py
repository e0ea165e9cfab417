"""Asks the workers of a job over ssh: which of them respond, whether ranks of an ended run of the launcher are still
alive there, and how a rank ended."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from hvdocker.protocol import paths
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.parallel_commands import run_parallel

# Limit for all hosts together. One login takes at most CONNECT_S, unless the sshd hangs after it has accepted
# the connection.
PROBE_S = 8.0
# Bytes read from the end of a rank's log: a traceback can be long.
MAX_LOG_TAIL_BYTES = 16384


def responding_hosts(loop: Loop, layout: Layout, hosts: Sequence[str]) -> set[str]:
    """Return those of `hosts` whose worker accepts an ssh login within PROBE_S. `layout` says where hvdocker's programs
    are. If a stop is requested meanwhile, return all hosts: those that have not answered yet may still respond."""
    parallel = run_parallel(loop, {host: layout.ssh(host, "true") for host in hosts}, PROBE_S)
    if loop.stop_requests:
        return set(hosts)
    return {host for host in hosts if parallel.codes.get(host) == 0}


def wait_for_old_ranks(
    loop: Loop, layout: Layout, job: str, head: str, hosts: Sequence[str], wait_s: float
) -> set[str]:
    """Wait up to `wait_s` for the ranks of the last run of the launcher to end, on `head` (the host of this process)
    and on `hosts`. This is done before the launcher is started again. `job` is the job's name; `layout` says where
    hvdocker's programs are. Return those of `hosts` that respond, including hosts on which ranks still run. A stop
    request ends the wait; hosts that have not answered by then are left out."""
    words = check_gone_command(layout, job, wait_s)
    commands = {host: layout.ssh(host, shlex.join(words)) for host in hosts}
    parallel = run_parallel(loop, {head: words, **commands}, wait_s + PROBE_S)
    # 255 is ssh's own failure. 1 means that a rank still runs there, so the worker does respond.
    return {host for host in hosts if parallel.codes.get(host, 255) in (0, 1)}


def hosts_with_leftover_ranks(loop: Loop, layout: Layout, job: str, hosts: Sequence[str], wait_s: float) -> list[str]:
    """Wait up to `wait_s` until the ranks of an ended job have ended. Return those of `hosts` on which ranks still run;
    hosts that do not respond are left out. `layout` says where hvdocker's programs are.

    Ranks may outlive the launcher: it may end a rank on another host only by closing the connection, without waiting
    for the rank. The first stop request does not interrupt the wait here, because it may be the request that ended the
    job. The second stop request does."""
    line = shlex.join(check_gone_command(layout, job, wait_s))
    commands = {host: layout.ssh(host, line) for host in hosts}
    parallel = run_parallel(loop, commands, wait_s + PROBE_S, handled_stop_requests=1)
    return [host for host in hosts if parallel.codes.get(host) == 1]


def read_rank_end(
    loop: Loop, layout: Layout, job: str, where: tuple[int, str], is_here: bool, wait_s: float
) -> dict[str, Any]:
    """Wait up to `wait_s` until the job's ranks on one host have ended, and return how one of these ranks ended.
    `layout` says where files and programs are. `where` is the number of this rank and its host. `is_here` says that the
    host is the head, where this process runs, so no ssh is needed. The result is the content of rank-N.json, which the
    rank wrapper writes on its host. The key `said` is added, with the end of the rank's log. The result is empty if
    rank-N.json cannot be read. Values are `Any` because they come from parsed JSON."""
    rank, host = where
    record = paths.rank_record(job, rank, layout.run)
    words = [
        check_gone_command(layout, job, wait_s),
        ["cat", str(record)],
        ["tail", "-c", str(MAX_LOG_TAIL_BYTES), str(record.with_suffix(".log"))],
    ]
    look = "; ".join(map(shlex.join, words))
    command = ["sh", "-c", look] if is_here else layout.ssh(host, look)
    parallel = run_parallel(loop, {host: command}, wait_s + PROBE_S)
    text = parallel.outputs[host].decode("utf-8", "replace")
    try:
        found, length = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return {}
    return {**found, "said": text[length:]} if isinstance(found, dict) else {}


def check_gone_command(layout: Layout, job: str, wait_s: float) -> list[str]:
    """Return the command line of `check gone`. This check waits in a container until the job's ranks there have ended,
    for at most `wait_s`."""
    return [str(layout.bin / "check"), "gone", job, f"{wait_s:g}"]
