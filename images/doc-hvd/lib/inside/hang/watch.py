"""Watches for a hang: all ranks have been silent and idle for as long as the job allows, as the timer in `hang/idle.py`
measures. The watch then collects the stacks of the ranks, once for each silence, and calls the function `found`, which
decides whether the job waits, restarts or ends."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hvdocker.protocol.record import Hang
from inside.hang import bundle
from inside.hang.idle import IdleTimer
from inside.hang.odd_rank import odd_rank
from inside.launchers.launcher import Launcher
from inside.runtime.loop import Loop
from inside.runtime.parallel_commands import ParallelCommands
from inside.runtime.say import say

LivingRanks = Callable[[], Sequence[tuple[int, str]]]
StartCollecting = Callable[[Sequence[str]], ParallelCommands]
OnHang = Callable[[Hang], None]


@dataclass(frozen=True)
class HangSettings:
    """How to watch a run of the `launcher`. `after_s`: the seconds of silence that count as a hang; 0 turns
    the watch off. `logs`: the folder for the stacks. `is_excused`: returns whether the silence has a
    known reason and is no hang, for example because an elastic job waits for hosts."""

    after_s: float
    logs: Path
    launcher: Launcher
    is_excused: Callable[[], bool] = lambda: False


class HangWatch:
    """Watches one run of the launcher for a hang. The event loop asks `due` when to wake up, and then calls `tick`.
    `living` returns the number and host of every running rank. `collect` starts to collect stacks on the given hosts.
    Once the stacks are collected, `found` is called with the hang, and decides what the job does."""

    def __init__(
        self, loop: Loop, settings: HangSettings, living: LivingRanks, collect: StartCollecting, found: OnHang
    ) -> None:
        self.idle_timer = IdleTimer(time.monotonic(), settings.launcher.stall_reader())
        self._loop = loop
        self._settings = settings
        self._living = living
        self._collect = collect
        self._found = found
        self._has_begun = False
        self._commands: ParallelCommands | None = None
        self._ranks: Sequence[tuple[int, str]] = ()
        # The start of the silence that was reported, so that it is reported only once.
        self._reported: float | None = None

    def begin(self) -> None:
        """Start to watch: from now on, silence can be a hang. Called when a rank has started. Before the first rank
        starts, silence is no hang."""
        self._has_begun = True

    def due(self) -> float | None:
        if self._commands and self._commands.is_done:
            # The commands may have ended after the last call of `tick`.
            return time.monotonic()
        if not self._is_armed():
            return None
        return self.idle_timer.since + self._settings.after_s

    def tick(self) -> None:
        """Start to collect the stacks when the silence has lasted `after_s` seconds. When they are collected, report
        the hang, unless a rank has written or worked since. If the ranks resume after a silence that was reported, tell
        the user. A silence with a known reason (`is_excused` of the settings) is no hang and resets the timer."""
        if self._commands:
            if self._commands.is_done:
                self._conclude(self._commands)
        elif self._settings.is_excused():
            self.idle_timer.end(time.monotonic())
            self._reported = None
        elif self._has_resumed():
            self._go_on()
        elif self._is_armed() and time.monotonic() >= self.idle_timer.since + self._settings.after_s:
            self._report()

    def close(self) -> None:
        """Stop watching, because the run of the launcher is over or is being ended. A collection of stacks that still
        runs is cancelled."""
        if self._commands:
            self._commands.cancel()
        self._loop.remove(self)

    def _is_armed(self) -> bool:
        return self._settings.after_s > 0 and self._has_begun and self._commands is None and self._reported is None

    def _has_resumed(self) -> bool:
        return self._reported is not None and self.idle_timer.since > self._reported

    def _go_on(self) -> None:
        self._reported = None
        say("the ranks go on")

    def _report(self) -> None:
        self._reported = self.idle_timer.since
        self._ranks = self._living()
        say(
            f"no output and no work from any rank for {self._settings.after_s:g} s: this looks like a hang; "
            "collecting the stacks"
        )
        self._commands = self._collect(list(dict.fromkeys(host for _rank, host in self._ranks)))

    def _conclude(self, commands: ParallelCommands) -> None:
        self._commands = None
        answers = bundle.parse_answers(commands.outputs)
        stacks = bundle.rank_stacks(self._ranks, answers)
        launcher = self._settings.launcher
        odd = odd_rank(stacks, launcher, self.idle_timer.missing if launcher.trusts_rank_numbers else ())
        lines = bundle.summary(stacks, odd)
        for line in lines:
            say(line)
        name = bundle.write_bundle(self._settings.logs, answers, lines)
        say(f"the stacks are in logs/{name} of the job" if name else "the stacks could not be kept")
        if self._has_resumed():
            # The hang has ended while the stacks were collected: nothing may follow from it.
            self._go_on()
            return
        after_s = self._settings.after_s
        self._found(Hang(after_s, odd.rank, odd.host, odd.why, name) if odd else Hang(after_s, bundle=name))
