"""Run work that a single Ctrl-C does not interrupt."""

from __future__ import annotations

from collections.abc import Callable


class SecondCtrlC(Exception):
    """Ctrl-C was pressed a second time, and the work was abandoned."""


def finish_despite_ctrl_c(work: Callable[[], None], on_interrupt: Callable[[], None]) -> None:
    """Run `work` in a thread and wait for it, ignoring the first Ctrl-C.

    The first Ctrl-C calls `on_interrupt`; the second raises SecondCtrlC. Exceptions of `work` are raised
    here."""
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
