"""Which rank is the odd one, by the stacks of all: the one that the others wait for."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from inside.hang.frames import Frame

# How many of the innermost calls are compared: below them ranks differ for harmless reasons.
DEPTH = 3
# How far from the innermost call a collective is looked for.
REACH = 12
COLLECTIVE = re.compile(
    r"(?:^|_|\.)(?:all_?reduce|all_?gather|all_?to_?all|broadcast|reduce_?scatter|synchronize|barrier)"
    r"|^hvd\.|^quick_execute$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RankStack:
    """What one rank is doing; without frames `trouble` says why."""

    rank: int
    host: str
    frames: tuple[Frame, ...] = ()
    trouble: str = ""

    def __str__(self) -> str:
        what = str(self.frames[0]) if self.frames else self.trouble
        return f"rank {self.rank}@{self.host}: {what}"


@dataclass(frozen=True)
class OddRank:
    """The odd one, and why it is taken for that."""

    rank: int
    host: str
    why: str


def odd_rank(stacks: Sequence[RankStack], missing: Collection[int] = ()) -> OddRank | None:
    """`missing` are the ranks that Horovod itself said it waits for. None where nothing tells them apart."""
    silent = [stack for stack in stacks if not stack.frames]
    if silent:
        return odd(silent[0], silent[0].trouble) if len(silent) < len(stacks) else None
    named = [stack for stack in stacks if stack.rank in missing]
    if named and len(named) < len(stacks):
        return odd(named[0], "Horovod waits for it")
    return by_majority(stacks) or by_collective(stacks)


def by_majority(stacks: Sequence[RankStack]) -> OddRank | None:
    """The one whose innermost calls differ from those of most others; among several rather one that waits
    for nobody."""
    counts = Counter(map(innermost, stacks))
    if len(stacks) < 3 or len(counts) < 2:
        return None
    common, count = counts.most_common(1)[0]
    if 2 * count <= len(stacks):
        return None
    others = [stack for stack in stacks if innermost(stack) != common]
    chosen = next((stack for stack in others if not is_in_collective(stack)), others[0])
    usual = next(stack for stack in stacks if innermost(stack) == common)
    return odd(chosen, f"it is in {chosen.frames[0]}, {count} of {len(stacks)} are in {usual.frames[0]}")


def by_collective(stacks: Sequence[RankStack]) -> OddRank | None:
    """The one that does not wait in a collective while another does."""
    outside = [stack for stack in stacks if not is_in_collective(stack)]
    if not outside or len(outside) == len(stacks):
        return None
    return odd(outside[0], f"it is in {outside[0].frames[0]}, and others wait for all ranks")


def odd(stack: RankStack, why: str) -> OddRank:
    return OddRank(stack.rank, stack.host, why)


def innermost(stack: RankStack) -> tuple[tuple[str, str], ...]:
    """Lines are left out: equal calls may stand on different ones."""
    return tuple((frame.file, frame.function) for frame in stack.frames[:DEPTH])


def is_in_collective(stack: RankStack) -> bool:
    """Whether it waits for other ranks, in Horovod or in an operation of TensorFlow's."""
    return any(
        "/horovod/" in frame.file or COLLECTIVE.search(frame.function) for frame in stack.frames[:REACH]
    )
