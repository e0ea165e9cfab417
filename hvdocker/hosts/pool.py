"""Work on all hosts at once, in threads: paramiko and the Docker SDK block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from hvdocker.errors import HvdockerError, raise_together

T = TypeVar("T")
MOST_AT_ONCE = 30


@dataclass(frozen=True)
class Outcomes(Generic[T]):
    done: Mapping[str, T]
    failed: Mapping[str, HvdockerError]

    def or_raise(self, what: str) -> Mapping[str, T]:
        raise_together(what, list(self.failed.values()))
        return self.done


def each(
    names: Iterable[str],
    work: Callable[[str], T],
    stop_at_first: bool = False,
    on_interrupt: Callable[[], None] = lambda: None,
    most_at_once: int = MOST_AT_ONCE,
) -> Outcomes[T]:
    """Runs `work(name)` for every name. Removal collects every failure; creation may stop early: what
    has not begun is then left out, what is under way is finished."""
    order = list(names)
    if not order:
        return Outcomes({}, {})
    with ThreadPoolExecutor(max_workers=min(most_at_once, len(order))) as pool:
        try:
            futures = {name: pool.submit(work, name) for name in order}
            wait(futures.values(), return_when=FIRST_EXCEPTION if stop_at_first else ALL_COMPLETED)
        except KeyboardInterrupt:
            on_interrupt()
            raise
        finally:
            _drain(pool)
    done: dict[str, T] = {}
    failed: dict[str, HvdockerError] = {}
    for name, future in futures.items():
        if future.cancelled():
            continue
        error = future.exception()
        if error is None:
            done[name] = future.result()
        elif isinstance(error, HvdockerError):
            failed[name] = error.at(name)
        else:
            raise error
    return Outcomes(done, failed)


def _drain(pool: ThreadPoolExecutor) -> None:
    """Waits for what is under way, also when Ctrl-C comes again: nothing may be made behind the back of
    whoever undoes it."""
    while True:
        try:
            return pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt:
            continue
