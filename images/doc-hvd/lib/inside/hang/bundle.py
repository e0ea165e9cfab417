"""Collects the stacks of all ranks on all hosts after a hang, and writes a bundle: a folder with these stacks
in the job's logs."""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from inside.hang.frames import main_frames
from inside.hang.odd_rank import OddRank, RankStack
from inside.runtime.layout import Layout
from inside.runtime.loop import Loop
from inside.runtime.parallel_commands import ParallelCommands

COLLECT_S = 30.0
NO_ANSWER = "its host does not answer"
NO_STACK = "it gives no stack"

Answers = Mapping[str, Mapping[str, Any] | None]  # Any: JSON

# If a job hangs more often than this, it overwrites its last bundle.
MAX_BUNDLES = 10


def start_collecting(loop: Loop, layout: Layout, job: str, head: str, hosts: Collection[str]) -> ParallelCommands:
    """Start the program `bin/stacks` for `job` on all `hosts` at the same time: directly on `head` (the host of this
    process), over ssh on the others. `layout` says where hvdocker's programs are. The commands run on the event loop
    for at most COLLECT_S seconds. The caller waits until `is_done` of the result, then reads its `outputs`."""
    words = [str(layout.bin / "stacks"), job]
    commands = {host: words if host == head else layout.ssh(host, shlex.join(words)) for host in hosts}
    return ParallelCommands(loop, commands, COLLECT_S)


def parse_answers(outputs: Mapping[str, bytes]) -> Answers:
    """Parse the JSON that `bin/stacks` printed on each host, and return it by host: {host, ranks: the stacks of each
    rank, gpus: nvidia-smi's output}. `outputs` maps each host to the printed bytes. A host that gave no valid answer
    maps to None."""
    return {host: parse_answer(output) for host, output in outputs.items()}


def parse_answer(output: bytes) -> Mapping[str, Any] | None:  # Any: JSON
    try:
        found = json.loads(output)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("ranks"), list) else None


def rank_stacks(living: Sequence[tuple[int, str]], answers: Answers) -> list[RankStack]:
    """Return one RankStack for every rank in `living`, which has the number and the host of each running rank.
    `answers` has, by host, the parsed output of `bin/stacks` (from `parse_answers`). If a rank has no stack, for
    example because its host did not answer, the field `trouble` of its RankStack says why."""
    return [rank_stack(rank, host, answers.get(host)) for rank, host in living]


def rank_stack(rank: int, host: str, answer: Mapping[str, Any] | None) -> RankStack:  # Any: JSON
    if answer is None:
        return RankStack(rank, host, trouble=NO_ANSWER)
    entry = next((e for e in answer["ranks"] if isinstance(e, dict) and e.get("rank") == rank), {})
    frames = main_frames(str(entry.get("text", "")))
    return RankStack(rank, host, frames, "" if frames else NO_STACK)


def summary(stacks: Sequence[RankStack], odd: OddRank | None) -> list[str]:
    """Return the lines that describe a hang to the user and in the bundle's summary.txt: one line for each rank in
    `stacks`, then one about the odd rank (the rank that the others probably wait for). If `odd` is None, that line says
    that no rank stands out."""
    lines = [str(stack) for stack in stacks] or ["no rank is left"]
    if odd is None:
        return [*lines, "no rank stands out"]
    return [*lines, f"the odd one is rank {odd.rank} on {odd.host}: {odd.why}"]


def write_bundle(logs: Path, answers: Answers, lines: Sequence[str]) -> str:
    """Write the answers of all hosts (from `parse_answers`) and `lines` (from `summary`) to the next free folder
    hang-<n> in `logs`, the job's folder for logs. If all MAX_BUNDLES folders exist, the last folder is overwritten.
    Return the folder's name, or an empty string if writing failed."""
    try:
        folder = next_folder(logs)
        for host, answer in answers.items():
            text = json.dumps(answer, indent=1, sort_keys=True) if answer is not None else "null"
            (folder / f"{host}.json").write_text(f"{text}\n", encoding="utf-8")
        (folder / "summary.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError:
        return ""
    return folder.name


def next_folder(logs: Path) -> Path:
    """Make and return the next free folder hang-<n> in `logs`. If all MAX_BUNDLES folders exist, return the last
    one."""
    number = 1
    while number < MAX_BUNDLES and (logs / f"hang-{number}").exists():
        number += 1
    folder = logs / f"hang-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
