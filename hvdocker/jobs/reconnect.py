"""A link that breaks while a job is watched: for a while it is opened again, because laptops go offline and
come back. Only then it is asked who is gone: the head, or this machine's own network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import HostUnfit, HostUnreachable, HvdockerError, TookTooLong
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.transport.session import Session, reopened

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

PATIENCE_S = 60.0
LONGEST_PAUSE_S = 8.0


@dataclass
class Reconnect:
    """`judge` says what is the matter where the host stays away; None where that cannot be told."""

    env: Env
    located: Located
    session: Session
    job: str
    host: str
    judge: Callable[[], HvdockerError | None] = lambda: None
    open: Callable[[Env, Located, str], HostLink] = reopened
    patience_s: float = PATIENCE_S
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, error: HvdockerError) -> HostLink:
        """Another link, or what to tell the person; Ctrl-C leaves, and stops nothing."""
        wait = f"trying again for {self.patience_s:.0f} s"
        self._say(f"the link to {self.host} broke; {wait}; the job goes on meanwhile")
        try:
            link = self._opened()
            if isinstance(link, HvdockerError):
                raise self._verdict(error, link)
        except KeyboardInterrupt:
            raise self.adrift(error) from None
        self.session.put(link)
        self._say(f"the link to {self.host} is back")
        return link

    def adrift(self, error: HvdockerError) -> HvdockerError:
        """The job is not known to have ended."""
        error.fix = f"the job goes on without this terminal; watch it with: {self.again}"
        return error

    @property
    def again(self) -> str:
        return f"hvdocker logs -f {self.job}{self.located.flag}"

    def _opened(self) -> HostLink | HvdockerError:
        deadline = self.clock() + self.patience_s
        for pause_s in _pauses():
            try:
                return self._open()
            except (HostUnreachable, HostUnfit, TookTooLong) as error:
                if self.clock() + pause_s > deadline:
                    return error
            self.sleep(pause_s)
        raise AssertionError("pauses never end")

    def _open(self) -> HostLink:
        """A host whose engine does not answer yet is not back."""
        from hvdocker.observe.hosts import find_engine
        from hvdocker.transport.errors import translating_errors

        link = self.open(self.env, self.located, self.host)
        try:
            with translating_errors(self.host, "asking the engine"):
                find_engine(link)
                link.engine().ping()
        except BaseException:
            link.close()
            raise
        return link

    def _verdict(self, broken: HvdockerError, last: HvdockerError) -> HvdockerError:
        if isinstance(last, HostUnfit):
            return last
        return self.judge() or self.adrift(broken)

    def _say(self, text: str) -> None:
        self.env.listener(Event("note", text))


def _pauses() -> Iterator[float]:
    pause_s = 0.5
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
