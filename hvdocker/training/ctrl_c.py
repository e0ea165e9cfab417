"""Work that one Ctrl-C does not end."""

from __future__ import annotations

from collections.abc import Callable


class LeftUndone(Exception):
    """Ctrl-C came a second time."""


def finish_despite_ctrl_c(work: Callable[[], None], on_interrupt: Callable[[], None]) -> None:
    """The first Ctrl-C is only answered, the second leaves the work behind. What the work raises is raised
    here."""
    from hvdocker.transport.background import Uninterrupted

    apart = Uninterrupted(work)
    try:
        apart.wait()
    except KeyboardInterrupt:
        try:
            on_interrupt()
            apart.wait()
        except KeyboardInterrupt:
            raise LeftUndone from None
    apart.settle()
