"""Runs work on all hosts at once, in threads, because paramiko and the Docker SDK block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from hvdocker.errors import HvdockerError, raise_all

T = TypeVar("T")
MAX_THREADS = 30


@dataclass(frozen=True)
class HostOutcomes(Generic[T]):
    """Results and errors by name. A name whose work did not begin or did not finish is in neither."""

    done: Mapping[str, T]
    failed: Mapping[str, HvdockerError]

    def or_raise(self, what: str) -> Mapping[str, T]:
        """Return the results, or raise all errors together under the headline `what`."""
        raise_all(what, list(self.failed.values()))
        return self.done


def for_each_host(
    names: Iterable[str],
    work: Callable[[str], T],
    stop_at_first: bool = False,
    on_interrupt: Callable[[], None] = lambda: None,
    most_at_once: int = MAX_THREADS,
) -> HostOutcomes[T]:
    """Run `work(name)` for every name and return results and errors. Only HvdockerErrors are collected.

    With `stop_at_first` (creation) work that has not begun when the first error occurs is left out, and work
    under way is finished; otherwise (removal) all work is done. Ctrl-C calls `on_interrupt` and raises when
    all threads have ended."""
    order = list(names)
    if not order:
        return HostOutcomes({}, {})
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


def for_each_host_within(names: Iterable[str], work: Callable[[str], T], seconds: float) -> HostOutcomes[T]:
    """Like `for_each_host`, but return after `seconds`. Work that is not done by then is in neither mapping;
    its thread runs on until its link is closed."""
    order = list(names)
    if not order:
        return HostOutcomes({}, {})
    pool = ThreadPoolExecutor(max_workers=min(MAX_THREADS, len(order)))
    futures = {name: pool.submit(work, name) for name in order}
    try:
        wait(futures.values(), timeout=seconds)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return _outcomes({name: future for name, future in futures.items() if future.done()})


def _outcomes(futures: Mapping[str, Future[T]]) -> HostOutcomes[T]:
    """Collect results and errors of the futures that were not cancelled; raise any error that is not ours."""
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
    return HostOutcomes(done, failed)


def _drain(pool: ThreadPoolExecutor, futures: Collection[Future[T]]) -> None:
    """Cancel what has not begun and wait for the rest, even if Ctrl-C is pressed again: no thread may create
    something after the rollback began. Waits for futures first, because Python 3.11 regards a thread as
    ended when joining it is interrupted."""
    while True:
        try:
            pool.shutdown(wait=False, cancel_futures=True)
            wait([future for future in futures if not future.cancelled()])
            return pool.shutdown(wait=True)
        except KeyboardInterrupt:
            continue
