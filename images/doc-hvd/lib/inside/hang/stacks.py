"""The program `stacks`: prints the Python stacks of the processes of a job's ranks in this container, at most
MAX_PROCESSES for each rank. py-spy reads the stacks from outside, if it is installed and the kernel permits tracing.
Otherwise a signal asks each process to write its stacks."""

import json
import os
import shutil
import sys
import time
from collections.abc import Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from hvdocker.protocol import paths
from hvdocker.protocol.job_file import Job, JobError
from inside.hang.ask_python import request_stacks
from inside.hang.short_command import run_with_limit
from inside.rank.environment import read_image_env
from inside.rank.masking import Masker, words_to_mask
from inside.runtime import rank_registry
from inside.runtime.processes import PROC, Process, command_line_of, session_and_descendants
from inside.runtime.read_job import read_job
from inside.runtime.secrets import SecretError, read_secrets

PY_SPY_S = 8.0
GPUS_S = 5.0
ALL_S = 25.0
# A rank may have many processes that load data, all with similar stacks.
MAX_PROCESSES = 24
AT_ONCE = 8
# Best first: a rank reports the best method that worked for one of its processes.
METHODS = ("py-spy", "faulthandler", "none")
GPU_USE = (
    ("--query-gpu=index,name,utilization.gpu,memory.used,memory.total", "--format=csv"),
    ("--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv"),
)


class Stack(NamedTuple):
    """The stacks of one process. `how` is the method that read them, one of METHODS: `py-spy`, `faulthandler` (the
    process wrote them after a signal) or `none`. `text` has the stacks, or the reason if there are none."""

    how: str
    text: str


def main(arguments: Sequence[str], run: Path = paths.RUN) -> int:
    """Run `stacks JOB`: print the stacks of the job's ranks in this container as JSON, with secrets masked: {host,
    ranks: the stacks of each rank, gpus: nvidia-smi's output}. Return 0, or 2 for wrong arguments, or 1 if job.json or
    a secret cannot be read. `run` is the folder /run/hvdocker."""
    if len(arguments) != 1:
        print("usage: stacks JOB", file=sys.stderr)
        return 2
    try:
        job = read_job(arguments[0], run)
        words = words_to_mask(read_secrets(job.name, job.secrets, run))
    except (JobError, SecretError) as error:
        print(f"hvdocker: {error}", file=sys.stderr)
        return 1
    found = collect_stacks(job, run)
    for rank in found["ranks"]:
        rank["text"] = masked(rank["text"], words)
    print(json.dumps(found, sort_keys=True))
    return 0


def masked(text: str, words: Sequence[bytes]) -> str:
    """Return the text with every secret in `words` (from `words_to_mask`) replaced by stars. Command lines in the text
    may contain secrets."""
    masker = Masker(words)
    return (masker.feed(text.encode()) + masker.close()).decode("utf-8", "replace")


def collect_stacks(job: Job, run: Path = paths.RUN) -> dict[str, Any]:  # Any: JSON
    """Return {host, ranks, gpus}. `host` is the name of this host, and `gpus` is nvidia-smi's output about its GPUs.
    `ranks` is a list with {rank, pid, how, text} for each rank of the job in this container: `text` has the stacks of
    its processes, and `how` is the method that read them (one of METHODS). `run` is the folder /run/hvdocker. Values
    are `Any` because they become JSON."""
    path = read_image_env(run / paths.IMAGE_ENV.name).get("PATH") or os.environ.get("PATH", os.defpath)
    spy, smi = shutil.which("py-spy", path=path), shutil.which("nvidia-smi", path=path)
    members = {entry: session_and_descendants(entry.pid) for entry in rank_registry.registered_ranks(job.name, run)}
    pool = ThreadPoolExecutor(AT_ONCE)
    gpus = pool.submit(gpu_use, smi)
    stacks = stacks_of_processes(
        pool,
        {
            process: (spy, paths.stacks_folder(job.name, entry.rank, run))
            for entry, found in members.items()
            for process in found[:MAX_PROCESSES]
        },
        {entry.pid for entry in members},
    )
    ranks = [rank_answer(entry, found, stacks) for entry, found in members.items()]
    pool.shutdown(wait=False, cancel_futures=True)
    return {"host": job.host, "ranks": ranks, "gpus": gpus.result()}


def stacks_of_processes(
    pool: ThreadPoolExecutor, ways: Mapping[Process, tuple[str | None, Path]], commands: Container[int]
) -> dict[Process, Stack]:
    """Return the stacks of every process in `ways`, which maps a process to the path of py-spy (None if missing) and to
    the folder into which the process writes its stacks on a signal. `commands`: the pids of the ranks' commands, which
    are asked first. Several processes are asked at the same time, in the threads of `pool`, because a hung process may
    answer slowly and a rank may have many processes. A process that has not answered after ALL_S gets a Stack with the
    method `none`."""
    deadline = time.monotonic() + ALL_S
    order = sorted(ways, key=lambda process: (process.pid not in commands, process.pid))
    asked = {process: pool.submit(stack_of, process, *ways[process]) for process in order}
    wait(asked.values(), timeout=deadline - time.monotonic())
    return {
        process: future.result() if future.done() else Stack("none", "there was no time left\n")
        for process, future in asked.items()
    }


def rank_answer(
    entry: rank_registry.RankEntry, members: Sequence[Process], stacks: Mapping[Process, Stack]
) -> dict[str, Any]:  # Any: JSON
    """Return {rank, pid, how, text}, the part of the printed JSON about one rank. `entry` is the rank in the registry.
    `how` is the best method that worked (`py-spy`, `faulthandler` or `none`), `text` has the stacks. `members` are the
    processes of the rank, its command first. Processes that are not in `stacks` are only counted. Values are `Any`
    because they become JSON."""
    seen = [process for process in members if process in stacks]
    parts = [f"{title(process)}\n{stacks[process].text}" for process in seen]
    if len(members) > len(seen):
        parts.append(f"and {len(members) - len(seen)} processes more\n")
    how = min((stacks[process].how for process in seen), key=METHODS.index, default="none")
    return {"rank": entry.rank, "pid": entry.pid, "how": how, "text": "\n".join(parts)}


def title(process: Process) -> str:
    """Return the line above the stacks of a process: its pid, state and command line."""
    return f"process {process.pid} ({process.state}): {command_line_of(process.pid) or process.name}"


def stack_of(process: Process, spy: str | None, folder: Path) -> Stack:
    """Return the stacks of one process, or the reason why there are none, for example because it is not Python. py-spy
    is tried first (`spy` is its path, None if it is missing); if that fails, a signal asks the process to write its
    stacks to `folder`."""
    if process.state in "ZX":
        return Stack("none", "it has ended\n")
    if not is_python(process.pid):
        return Stack("none", "it is not a Python process\n")
    reasons = []
    if spy:
        code, text = run_with_limit([spy, "dump", "--nonblocking", "--pid", str(process.pid)], PY_SPY_S)
        if code == 0 and "Thread" in text:
            return Stack("py-spy", text)
        reasons.append(f"py-spy: {text.strip() or f'exit code {code}'}\n")
    text, reason = request_stacks(process.pid, folder)
    if text:
        return Stack("faulthandler", text)
    return Stack("none", "".join([*reasons, f"the signal: {reason}\n"]))


def is_python(pid: int, proc: Path = PROC) -> bool:
    """Return whether Python runs in a process, as the program or as a library. That is the case if its memory maps name
    Python. Return True also if they cannot be read. `proc` is the folder /proc."""
    try:
        maps = (proc / str(pid) / "maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return "python" in maps


def gpu_use(smi: str | None) -> str:
    """Return the output of nvidia-smi about the GPUs and their processes. `smi` is the path of nvidia-smi. If it is
    None, because nvidia-smi is missing, return an empty string."""
    if smi is None:
        return ""
    return "".join(run_with_limit([smi, *words], GPUS_S)[1] for words in GPU_USE)
