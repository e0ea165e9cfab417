"""Run work that a single Ctrl-C does not interrupt."""

from __future__ import annotations

from collections.abc import Callable


class SecondCtrlC(Exception):
    """Raised by `finish_despite_ctrl_c` when Ctrl-C was pressed a second time: it no longer waits for the work."""


def finish_despite_ctrl_c(work: Callable[[], None], on_interrupt: Callable[[], None]) -> None:
    """Run `work` in a thread and wait until it has ended, even if the user presses Ctrl-C once.

    The first Ctrl-C calls `on_interrupt` and goes on waiting. The second raises SecondCtrlC. An exception that
    `work` raises is raised here."""
    from hvdocker.transport.background import UninterruptedTask

    apart = UninterruptedTask(work)
    try:
        apart.wait()
    except KeyboardInterrupt:
        try:
            on_interrupt()
            apart.wait()
        except KeyboardInterrupt:
            raise SecondCtrlC from None
    apart.raise_error()
