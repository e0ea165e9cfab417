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
    """The outcome of work on several hosts: results (`done`) and errors (`failed`), both by host name. A host is in
    neither mapping if its work did not begin or did not finish."""

    done: Mapping[str, T]
    failed: Mapping[str, HvdockerError]

    def or_raise(self, what: str) -> Mapping[str, T]:
        """Return the results if no host failed. If one host failed, raise the error of that host. If several failed,
        raise HostErrors with the headline `what`."""
        raise_all(what, list(self.failed.values()))
        return self.done


def for_each_host(
    names: Iterable[str],
    work: Callable[[str], T],
    stop_at_first: bool = False,
    on_interrupt: Callable[[], None] = lambda: None,
    most_at_once: int = MAX_THREADS,
) -> HostOutcomes[T]:
    """Run `work(name)` for every host name in `names`, in threads, and return results and errors. HvdockerErrors are
    collected; any other exception is raised.

    With `stop_at_first` (for work that creates things) the first error cancels all work that has not begun; work under
    way is finished. Otherwise (for work that removes things) all work is done despite errors. `most_at_once` limits
    the threads. Ctrl-C calls `on_interrupt`, waits until all threads have ended and then raises KeyboardInterrupt."""
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
    """Run `work(name)` for every host name in `names`, in threads, and return results and errors after `seconds` at the
    latest. HvdockerErrors are collected; any other exception is raised. A host whose work is not done by then is in
    neither mapping of the result. Work that has not begun is cancelled. Work under way runs on in its thread until it
    ends, for example because the link is closed."""
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
    """Return the results and the HvdockerErrors of the futures, by host. Cancelled futures are left out. Raise any
    other exception of a future."""
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
    """Cancel the work that has not begun and wait until all other work has ended, even if Ctrl-C is pressed again.
    Otherwise a thread that still runs could create something after the rollback began.

    The futures are waited for before the threads, because Python 3.11 regards a thread as ended if Ctrl-C interrupts
    the wait for this thread."""
    while True:
        try:
            pool.shutdown(wait=False, cancel_futures=True)
            wait([future for future in futures if not future.cancelled()])
            return pool.shutdown(wait=True)
        except KeyboardInterrupt:
            continue
