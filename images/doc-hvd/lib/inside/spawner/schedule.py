"""Decides which process runs in which slot, and when all processes are over or have failed. Pure."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from hvdocker.protocol.job_file import JobHost
from inside.launchers.spawned import Slot

# The exit code of ssh itself: the host of a process is gone.
HOST_LOST = 255


@dataclass(frozen=True)
class FirstFailure:
    """The process that failed first: its number (`key`), its exit code, and its host."""

    key: int
    code: int
    host: str


class Schedule:
    """Gives the slots of `hosts` to `count` processes, which are numbered from 0: the first slots to the first
    processes. If there are more processes than slots, the remaining processes wait until a slot is free. With
    `ends_all` the first failure ends all other processes. `first` is the first failure, None if there is none."""

    def __init__(self, hosts: Sequence[JobHost], count: int, ends_all: bool = True) -> None:
        self.first: FirstFailure | None = None
        self._free = deque(all_slots(hosts))
        self._waiting = deque(range(count))
        self._running: dict[int, Slot] = {}
        self._ends_all = ends_all

    @property
    def code(self) -> int:
        return self.first.code if self.first else 0

    @property
    def must_end(self) -> bool:
        """Whether the processes that still run are to be ended."""
        return self._ends_all and self.first is not None

    @property
    def is_over(self) -> bool:
        """Whether no process runs, and no further process will start."""
        return not self._running and (self.must_end or not self._waiting or not self._free)

    def assign_free_slots(self) -> list[tuple[int, Slot]]:
        """Return the numbers of the processes that are to be started now, each with its slot."""
        started = []
        while self._waiting and self._free and not self.must_end:
            key, slot = self._waiting.popleft(), self._free.popleft()
            self._running[key] = slot
            started.append((key, slot))
        return started

    def end(self, key: int, code: int) -> None:
        """Note that process number `key` has ended with exit code `code`. Its slot is free for another process."""
        slot = self._running.pop(key, None)
        if slot is None:
            return
        self._free.append(slot)
        self._note(key, code, slot.host)

    def lose(self, host: str) -> list[int]:
        """Note that a host is gone, with its slots. Return the numbers of the processes that ran on it; they have
        failed. A host on which no process ran can also make the job fail, in two cases: the processes need all hosts
        (`ends_all`), or processes wait and no host is left for them."""
        lost = [key for key, slot in self._running.items() if slot.host == host]
        self._free = deque(slot for slot in self._free if slot.host != host)
        for key in lost:
            del self._running[key]
            self._note(key, HOST_LOST, host)
        if not lost and self._ends_all and (self._running or self._waiting):
            self._note(min((*self._running, *self._waiting)), HOST_LOST, host)
        if self._waiting and not self._free and not self._running:
            self._note(self._waiting[0], HOST_LOST, host)
        return lost

    def _note(self, key: int, code: int, host: str) -> None:
        if code and self.first is None:
            self.first = FirstFailure(key, code, host)


def all_slots(hosts: Sequence[JobHost]) -> list[Slot]:
    """Return all slots of the hosts in the order of ranks: first all slots of the first host, and so on."""
    return [Slot(host.name, node, local, host.slots) for node, host in enumerate(hosts) for local in range(host.slots)]
