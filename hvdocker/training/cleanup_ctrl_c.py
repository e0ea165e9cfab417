"""Run work that a single Ctrl-C does not interrupt."""

from __future__ import annotations

from collections.abc import Callable


class SecondCtrlC(Exception):
    """The user pressed Ctrl-C a second time during `finish_despite_ctrl_c`. The work may not have ended."""


def finish_despite_ctrl_c(work: Callable[[], None], on_interrupt: Callable[[], None]) -> None:
    """Run `work` in a thread and wait until it has ended, even if the user presses Ctrl-C once.

    On the first Ctrl-C, `on_interrupt` is called and the wait goes on. On the second, SecondCtrlC is raised. An
    exception that `work` raises is raised here."""
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
