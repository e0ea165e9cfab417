"""Work on all hosts at once, in threads: paramiko and the Docker SDK block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from hvdocker.errors import HvdockerError, raise_all

T = TypeVar("T")
MOST_AT_ONCE = 30


@dataclass(frozen=True)
class Outcomes(Generic[T]):
    done: Mapping[str, T]
    failed: Mapping[str, HvdockerError]

    def or_raise(self, what: str) -> Mapping[str, T]:
        raise_all(what, list(self.failed.values()))
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
    futures: dict[str, Future[T]] = {}
    with ThreadPoolExecutor(max_workers=min(most_at_once, len(order))) as pool:
        try:
            for name in order:
                futures[name] = pool.submit(work, name)
            wait(futures.values(), return_when=FIRST_EXCEPTION if stop_at_first else ALL_COMPLETED)
        except KeyboardInterrupt:
            on_interrupt()
            raise
        finally:
            _drain(pool, futures.values())
    return _outcomes(futures)


def each_within(names: Iterable[str], work: Callable[[str], T], seconds: float) -> Outcomes[T]:
    """The same, for so long: whoever is not done by then is in neither list, and is left to itself. It ends
    with its link."""
    order = list(names)
    if not order:
        return Outcomes({}, {})
    pool = ThreadPoolExecutor(max_workers=min(MOST_AT_ONCE, len(order)))
    futures = {name: pool.submit(work, name) for name in order}
    try:
        wait(futures.values(), timeout=seconds)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return _outcomes({name: future for name, future in futures.items() if future.done()})


def _outcomes(futures: Mapping[str, Future[T]]) -> Outcomes[T]:
    """Of those that were not called off."""
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


def _drain(pool: ThreadPoolExecutor, futures: Collection[Future[T]]) -> None:
    """Waits for what is under way, also when Ctrl-C comes again: nothing may be made behind the back of
    whoever undoes it. Of threads Python 3.11 forgets that they run when joining one is interrupted."""
    while True:
        try:
            pool.shutdown(wait=False, cancel_futures=True)
            wait([future for future in futures if not future.cancelled()])
            return pool.shutdown(wait=True)
        except KeyboardInterrupt:
            continue
