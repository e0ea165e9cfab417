"""The world around a verb, injectable: folders, variables, the clock, and someone to ask."""

from __future__ import annotations

import getpass
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hvdocker import __version__
from hvdocker.events import Listener, ignore
from hvdocker.names import Maker


def nobody(question: str) -> bool:
    """Where there is no terminal the answer is no."""
    return False


def nobody_knows(question: str) -> str:
    return ""


def nothing() -> None:
    """There is nothing to do."""


@dataclass(frozen=True)
class Env:
    """`ask_secret` shows nothing of what is typed; no answer is an empty one. `passphrases` of key files are
    kept for the length of a command, so that each is asked for once. `run` is the token of a `run`."""

    cwd: Path = field(default_factory=Path.cwd)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    listener: Listener = ignore
    ask: Callable[[str], bool] = nobody
    ask_secret: Callable[[str], str] = nobody_knows
    is_interactive: bool = False
    passphrases: dict[str, str] = field(default_factory=dict, repr=False)
    now: Callable[[], float] = time.time
    entropy: Callable[[int], bytes] = secrets.token_bytes
    run: str = ""
    # Work of this process that can be done while hosts answer.
    while_connecting: Callable[[], None] = nothing

    def maker(self) -> Maker:
        return Maker(self.environ.get("HVDOCKER_OWNER") or getpass.getuser(), __version__, self.run)
