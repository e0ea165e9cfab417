"""Finds the odd rank, the rank that the others probably wait for, by comparing the stacks of all ranks. Four rules are
tried in this order, and the first that finds a rank decides: a rank without a stack; a rank that the framework says it
waits for; a rank whose calls differ from those of the majority; a rank outside a collective operation while others are
in one. Pure: opens nothing."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inside.hang.frames import Frame
from inside.launchers.launcher import Launcher

# How many innermost calls are compared: further out, ranks differ for reasons that do not matter.
DEPTH = 3
# How many innermost calls are searched for a collective operation.
SEARCH_DEPTH = 12
COLLECTIVE = re.compile(
    r"(?:^|_|\.)(?:all_?reduce|all_?gather|all_?to_?all|broadcast|reduce_?scatter|synchronize|barrier)"
    r"|^quick_execute$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RankStack:
    """What one rank is doing: the calls of its main thread, innermost first. If `frames` is empty, `trouble`
    says why."""

    rank: int
    host: str
    frames: tuple[Frame, ...] = ()
    trouble: str = ""

    def __str__(self) -> str:
        what = str(self.frames[0]) if self.frames else self.trouble
        return f"rank {self.rank}@{self.host}: {what}"


@dataclass(frozen=True)
class OddRank:
    """The rank that the others probably wait for. `why` says why it was chosen."""

    rank: int
    host: str
    why: str


def odd_rank(stacks: Sequence[RankStack], launcher: Launcher, missing: Collection[int] = ()) -> OddRank | None:
    """Return the rank that the others probably wait for, or None if no rank stands out. `stacks` has one entry for each
    running rank. `launcher` knows the stack frames in which its framework waits. `missing` has the ranks that the
    framework waits for, by its own warning in the output. It is empty if there was no warning, or if the rank numbers
    in the warning cannot be used."""
    silent = [stack for stack in stacks if not stack.frames]
    if silent:
        return as_odd_rank(silent[0], silent[0].trouble) if len(silent) < len(stacks) else None
    named = [stack for stack in stacks if stack.rank in missing]
    if named and len(named) < len(stacks):
        return as_odd_rank(named[0], f"{launcher.framework} waits for it")
    waiting = [stack for stack in stacks if is_in_collective(stack, launcher)]
    return by_majority(stacks, waiting) or by_collective(stacks, waiting)


def by_majority(stacks: Sequence[RankStack], waiting: Sequence[RankStack]) -> OddRank | None:
    """Return a rank whose innermost calls differ from those that more than half of the ranks have in common. If there
    are several such ranks, prefer one that is in no collective operation. Return None for fewer than three ranks, if
    there is no majority, or if no rank differs. `stacks` has one entry for each running rank, `waiting` only the
    entries of ranks that are in a collective operation."""
    counts = Counter(map(innermost_calls, stacks))
    if len(stacks) < 3 or len(counts) < 2:
        return None
    common, count = counts.most_common(1)[0]
    if 2 * count <= len(stacks):
        return None
    others = [stack for stack in stacks if innermost_calls(stack) != common]
    chosen = next((stack for stack in others if stack not in waiting), others[0])
    usual = next(stack for stack in stacks if innermost_calls(stack) == common)
    return as_odd_rank(chosen, f"it is in {chosen.frames[0]}, {count} of {len(stacks)} are in {usual.frames[0]}")


def by_collective(stacks: Sequence[RankStack], waiting: Sequence[RankStack]) -> OddRank | None:
    """Return a rank that is in no collective operation (an operation in which ranks wait for each other, such as
    allreduce) while another rank is in one. Return None if all ranks are in a collective operation, or none is.
    `stacks` has one entry for each running rank, `waiting` only the entries of ranks that are in a collective
    operation."""
    outside = [stack for stack in stacks if stack not in waiting]
    if not outside or len(outside) == len(stacks):
        return None
    return as_odd_rank(outside[0], f"it is in {outside[0].frames[0]}, and others wait for all ranks")


def as_odd_rank(stack: RankStack, why: str) -> OddRank:
    return OddRank(stack.rank, stack.host, why)


def innermost_calls(stack: RankStack) -> tuple[tuple[str, str], ...]:
    """Return the file and function of each of the DEPTH innermost calls, to compare ranks with each other. Line
    numbers are left out: equal calls may be on different lines."""
    return tuple((frame.file, frame.function) for frame in stack.frames[:DEPTH])


def is_in_collective(stack: RankStack, launcher: Launcher) -> bool:
    """Return whether one of the innermost calls of a rank is a collective operation such as allreduce. A call is
    recognized by its name, or because `launcher` knows it. Such a rank probably waits for other ranks."""
    return any(
        COLLECTIVE.search(frame.function) or launcher.is_waiting(frame.function, frame.file)
        for frame in stack.frames[:SEARCH_DEPTH]
    )
