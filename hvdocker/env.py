"""The surroundings of a verb, injectable for tests: working folder, environment variables, clock,
randomness, and questions to the user."""

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
    """The answer to every question where there is no terminal: no."""
    return False


def answer_nothing(question: str) -> str:
    """The answer to every question for a secret where there is no terminal: empty."""
    return ""


def do_nothing() -> None:
    """The default of `Env.while_connecting`: no work."""


@dataclass(frozen=True)
class Env:
    """What a verb may use of its surroundings.

    `ask_secret` does not echo what is typed; an empty text means no answer. `passphrases` of key files, by
    path, are kept in memory until the command ends, so that the user types each once. `run` is the token of
    a `hvdocker run`, else empty."""

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
        """Return owner, version and run for the labels of new containers. HVDOCKER_OWNER sets the owner."""
        return Maker(self.environ.get("HVDOCKER_OWNER") or getpass.getuser(), __version__, self.run)
