"""Which workers of the job answer a login, and where ranks of an ended run are gone."""

import json
import shlex
from collections.abc import Sequence
from typing import Any

from inside.protocol import paths
from inside.protocol.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.parallel_commands import run_parallel

# For all hosts together; a login is given up after CONNECT_S, unless its sshd hangs later on.
PROBE_S = 8.0
# Of the last words of a rank: a traceback is longer than one thinks.
MOST_SAID = 16384


def answering(loop: Loop, places: Layout, hosts: Sequence[str]) -> set[str]:
    """Those of the hosts whose worker lets us in. Asked to stop meanwhile, nobody is said to be silent: who
    was not heard yet may well answer."""
    errands = run_parallel(loop, {host: places.ssh(host, "true") for host in hosts}, PROBE_S)
    if loop.stops:
        return set(hosts)
    return {host for host in hosts if errands.codes.get(host) == 0}


def settled(loop: Loop, places: Layout, job: str, head: str, hosts: Sequence[str], wait_s: float) -> set[str]:
    """The hosts that answer, after ranks of the last run had that time to be gone there, and here."""
    words = gone_words(places, job, wait_s)
    commands = {host: places.ssh(host, shlex.join(words)) for host in hosts}
    errands = run_parallel(loop, {head: words, **commands}, wait_s + PROBE_S)
    # ssh itself exits with 255; 1 says that a rank is still there, and the worker with it.
    return {host for host in hosts if errands.codes.get(host, 255) in (0, 1)}


def lingering(loop: Loop, places: Layout, job: str, hosts: Sequence[str], wait_s: float) -> list[str]:
    """The hosts where ranks of a job that is over still run after that time. The launcher ends a rank
    elsewhere by hanging up on it, and does not see how long it takes. The ask to stop that ended the job does
    not cut this short, nor does the first one after a failure: both want just this; the next one does."""
    line = shlex.join(gone_words(places, job, wait_s))
    commands = {host: places.ssh(host, line) for host in hosts}
    errands = run_parallel(loop, commands, wait_s + PROBE_S, obeyed=1)
    return [host for host in hosts if errands.codes.get(host) == 1]


def end_of_rank(
    loop: Loop, places: Layout, job: str, where: tuple[int, str], is_here: bool, wait_s: float
) -> dict[str, Any]:
    """How a rank ended, as its wrapper wrote it down on its host, and `said` last; nothing where that is not
    to be had."""
    rank, host = where
    record = paths.logs_folder(job, places.run) / f"rank-{rank}.json"
    words = [
        gone_words(places, job, wait_s),
        ["cat", str(record)],
        ["tail", "-c", str(MOST_SAID), str(record.with_suffix(".log"))],
    ]
    look = "; ".join(map(shlex.join, words))
    command = ["sh", "-c", look] if is_here else places.ssh(host, look)
    errands = run_parallel(loop, {host: command}, wait_s + PROBE_S)
    text = errands.outputs[host].decode("utf-8", "replace")
    try:
        found, length = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return {}
    return {**found, "said": text[length:]} if isinstance(found, dict) else {}


def gone_words(places: Layout, job: str, wait_s: float) -> list[str]:
    return [str(places.bin / "check"), "gone", job, f"{wait_s:g}"]
