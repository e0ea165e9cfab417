"""Waiting for a condition with a deadline, parallel calls, and the lab's error class."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class LabError(Exception):
    """The lab could not do what was asked; the text has the evidence."""


def until(probe: Callable[[], R | None], what: str, deadline_s: float, pause_s: float = 0.1) -> R:
    """Call `probe` until it returns something other than None; return that.

    A LabError of `probe` counts as no answer. Raise LabError after `deadline_s` seconds."""
    end = time.monotonic() + deadline_s
    problem = "no answer"
    while time.monotonic() < end:
        try:
            if (answer := probe()) is not None:
                return answer
        except LabError as error:
            problem = str(error)
        time.sleep(pause_s)
    raise LabError(f"{what}: not within {deadline_s:.0f} s; last: {problem}")


def in_parallel(act: Callable[[T], R], items: Sequence[T], width: int = 8) -> list[R]:
    """Call `act` on all items in threads; return the results in order.

    Raise one LabError with all failures, not only the first."""
    with ThreadPoolExecutor(width) as pool:
        futures = [pool.submit(act, item) for item in items]
    if problems := [str(error) for future in futures if (error := future.exception())]:
        raise LabError("\n".join(problems))
    return [future.result() for future in futures]
