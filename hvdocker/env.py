"""The surroundings of a verb, which tests can replace: working folder, environment variables, clock, randomness, and
questions to the user."""

from __future__ import annotations

import getpass
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hvdocker import __version__
from hvdocker.events import EventListener, ignore_events
from hvdocker.names import Maker


def answer_no(question: str) -> bool:
    """Answer no to every question. This is the default of `Env.ask`."""
    return False


def answer_nothing(question: str) -> str:
    """Return an empty text, which means that the user gave no answer. This is the default of `Env.ask_secret`."""
    return ""


def do_nothing() -> None:
    """Do nothing. This is the default of `Env.while_connecting`."""


@dataclass(frozen=True)
class Env:
    """What a verb may use of its surroundings.

    `cwd` is the current folder. `environ` has the environment variables. `listener` receives progress events. `ask`
    asks the user a yes-or-no question; `ask_secret` asks for a text that is not echoed, and an empty text means no
    answer. Both are called only if `is_interactive`, which says that the user is at a terminal. `passphrases` maps the
    path of a key file to its passphrase. They are kept in memory until the command ends, so that the user types each
    of them once. `now` returns the time in seconds since 1970. `entropy(n)` returns n random bytes. `run` is the token
    that identifies one `hvdocker run`; it is empty for all other verbs. `while_connecting` is called in a thread while
    the hosts answer, for work such as imports that then costs no extra time."""

    cwd: Path = field(default_factory=Path.cwd)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    listener: EventListener = ignore_events
    ask: Callable[[str], bool] = answer_no
    ask_secret: Callable[[str], str] = answer_nothing
    is_interactive: bool = False
    passphrases: dict[str, str] = field(default_factory=dict, repr=False)
    now: Callable[[], float] = time.time
    entropy: Callable[[int], bytes] = secrets.token_bytes
    run: str = ""
    # Work on the controller, such as imports, that is done while the hosts answer.
    while_connecting: Callable[[], None] = do_nothing

    def maker(self) -> Maker:
        """Return what goes into the labels of new containers: the owner, the version, and the `run` token.

        The environment variable HVDOCKER_OWNER sets the owner. The default is the name of the local user."""
        return Maker(self.environ.get("HVDOCKER_OWNER") or getpass.getuser(), __version__, self.run)
