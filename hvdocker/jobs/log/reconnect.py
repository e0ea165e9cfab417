"""Replace a link that breaks while a job is followed. Reopening is tried for a while, because laptops go offline
and come back. If it fails, the cause is determined if possible: the head is lost, or only the controller cannot
reach the head."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hvdocker.env import Env
from hvdocker.errors import CommandTimeout, HostUnfit, HostUnreachable, HvdockerError
from hvdocker.events import Event
from hvdocker.inventory.locate import Located
from hvdocker.transport.session import Session, reopen_link

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

RECONNECT_TIMEOUT_S = 60.0
MAX_PAUSE_S = 8.0


@dataclass
class Reconnect:
    """Reopens a broken link to `host`, the head of the job `job`. Call it with the error that broke the link.
    `patience_s` is how long opening is tried, in seconds. If the host stays unreachable, `diagnose` returns the error
    for the user, or None if the cause cannot be determined. `open` opens a link to a host. Tests replace `open`,
    `clock` and `sleep`."""

    env: Env
    located: Located
    session: Session
    job: str
    host: str
    diagnose: Callable[[], HvdockerError | None] = lambda: None
    open: Callable[[Env, Located, str], HostLink] = reopen_link
    patience_s: float = RECONNECT_TIMEOUT_S
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, error: HvdockerError) -> HostLink:
        """Return a new link to the host, and put it into the session. `error` is what broke the old link. If no link
        can be opened in time, raise the error of the last try if it is HostUnfit (the host responds, but its engine
        does not), otherwise the error that `diagnose` returns, or else `error`.

        Ctrl-C ends the wait but not the job: `error` is raised with a hint how to follow the job again."""
        wait = f"trying again for {self.patience_s:.0f} s"
        self._say(f"the link to {self.host} broke; {wait}; the job goes on meanwhile")
        try:
            link = self._opened()
            if isinstance(link, HvdockerError):
                raise self._diagnosed(error, link)
        except KeyboardInterrupt:
            raise self.with_follow_hint(error) from None
        self.session.replace_link(link)
        self._say(f"the link to {self.host} is back")
        return link

    def with_follow_hint(self, error: HvdockerError) -> HvdockerError:
        """Set the `fix` of `error` to a hint how to follow the job again, because the job may still run. Return
        `error`."""
        error.fix = f"the job goes on without this terminal; watch it with: {self.follow_command}"
        return error

    @property
    def follow_command(self) -> str:
        """The command that follows the job again, such as `hvdocker logs -f train-ab12`."""
        return f"hvdocker logs -f {self.job}{self.located.flag}"

    def _opened(self) -> HostLink | HvdockerError:
        """Return a new link, or the last error if none could be opened within `patience_s`. Opening is tried again
        after errors that may be temporary (HostUnreachable, HostUnfit, CommandTimeout); any other error is raised."""
        deadline = self.clock() + self.patience_s
        for pause_s in _pauses():
            try:
                return self._open()
            except (HostUnreachable, HostUnfit, CommandTimeout) as error:
                if self.clock() + pause_s > deadline:
                    return error
            self.sleep(pause_s)
        raise AssertionError("pauses never end")

    def _open(self) -> HostLink:
        """Open a link to the host, ping the engine through it, and return the link. Raise HvdockerError if either
        fails: a host whose engine does not answer yet cannot be used."""
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

    def _diagnosed(self, broken: HvdockerError, last: HvdockerError) -> HvdockerError:
        if isinstance(last, HostUnfit):
            return last
        return self.diagnose() or self.with_follow_hint(broken)

    def _say(self, text: str) -> None:
        self.env.listener(Event("note", text))


def _pauses() -> Iterator[float]:
    pause_s = 0.5
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, MAX_PAUSE_S)
