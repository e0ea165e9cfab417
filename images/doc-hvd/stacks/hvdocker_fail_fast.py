"""Ends a Python process of a rank at once when it fails: after an uncaught exception, or `sys.exit`, `exit` or `quit`
with another code than 0. Some frameworks (MPI, JAX) wait for all other ranks when a process ends, and these wait for
the failed one. It is active only if HVDOCKER_FAIL_FAST is 1; the launcher sets that. Functions registered with `atexit`
are not called.

`raise SystemExit(7)` is not noticed. Python calls no hook for it, and has deleted the exception with its code before it
calls functions registered with `atexit`."""

from __future__ import annotations  # a user's image may have a Python of 3.8

import os
import sys
from _sitebuiltins import Quitter  # site has imported it before it reads .pth files
from _thread import get_ident

FAIL_FAST = "HVDOCKER_FAIL_FAST"


def install() -> None:
    """Watch for failures of this process."""
    if os.environ.get(FAIL_FAST) != "1":
        return
    shown = sys.excepthook

    def show_and_end(kind: type[BaseException], error: BaseException, trace: object) -> None:
        shown(kind, error, trace)  # type: ignore[arg-type]
        end(130 if issubclass(kind, KeyboardInterrupt) else 1)

    sys.excepthook = show_and_end
    main = get_ident()

    def exit_of_rank(status: object = None, /) -> None:
        """Stand in for `sys.exit`. In other threads it ends only the thread."""
        raise RankExit(status) if get_ident() == main else SystemExit(status)

    sys.exit = exit_of_rank  # type: ignore[assignment]
    close_and_raise = Quitter.__call__

    def quit_rank(self: Quitter, code: object = None) -> None:
        """Stand in for the builtins `exit` and `quit`, which are instances of Quitter and close stdin first."""
        try:  # noqa: SIM105 - contextlib is slow to import
            close_and_raise(self, code)  # type: ignore[arg-type]
        except SystemExit:
            pass
        exit_of_rank(code)

    # The class is changed, because site makes the two instances after it has read .pth files.
    Quitter.__call__ = quit_rank  # type: ignore[method-assign, assignment]


class RankExit(SystemExit):
    """What `sys.exit`, `exit` and `quit` raise. If no code catches it, the interpreter deletes it when all frames are
    gone; then the process ends with its code."""

    def __del__(self) -> None:
        if self.code not in (None, 0) and sys._getframe().f_back is None:
            if isinstance(self.code, int):
                end(self.code & 0xFF)
            print(self.code, file=sys.stderr)
            end(1)


def end(code: int) -> None:
    """End the process without the waits of frameworks."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue
    os._exit(code)
