"""The error tree and the exit codes. An error says what failed, on which host, with which evidence,
and what to do next; only `console` prints one and only `cli` exits with its code."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    ERROR = 1
    USAGE = 2
    UNFIT = 3
    UNREACHABLE = 4
    LOCKED = 5
    NO_SLOTS = 6
    JOB_FAILED = 100
    JOB_STOPPED = 103
    INTERRUPTED = 130


class HvdockerError(Exception):
    """Anything that a person is told. `command` can be pasted; `lines` are its last words."""

    exit_code: int = ExitCode.ERROR

    def __init__(
        self,
        what: str,
        *,
        host: str | None = None,
        command: str | None = None,
        lines: Sequence[str] = (),
        fix: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.host = host
        self.command = command
        self.lines = tuple(lines)
        self.fix = fix

    def at(self, host: str) -> HvdockerError:
        """The same error, with the host named if it was not yet."""
        self.host = self.host or host
        return self

    def __str__(self) -> str:
        return f"{self.host}: {self.what}" if self.host else self.what


class UsageProblem(HvdockerError):
    exit_code = ExitCode.USAGE


class NoCluster(HvdockerError):
    """Nothing says which cluster is meant."""


class InventoryError(UsageProblem):
    """Every problem of an inventory at once, each with its path and line."""

    MOST_SHOWN = 30

    def __init__(self, source: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        noun = "problem" if count == 1 else "problems"
        more = [f"… and {count - self.MOST_SHOWN} more"] if count > self.MOST_SHOWN else []
        super().__init__(f"{source} has {count} {noun}", lines=(*self.problems[: self.MOST_SHOWN], *more))


class HostUnfit(HvdockerError):
    exit_code = ExitCode.UNFIT


class HostUnreachable(HvdockerError):
    """`stage`: how far the way in led (resolves, answers, hostkey, login); empty where it is not known."""

    exit_code = ExitCode.UNREACHABLE
    stage = ""


class HeadLost(HostUnreachable):
    """The head of a job is gone, and the job with it. `restart` is the last number that ranks elsewhere were
    started with."""

    def __init__(
        self, what: str, *, restart: int = 0, lines: Sequence[str] = (), fix: str | None = None
    ) -> None:
        super().__init__(what, lines=lines, fix=fix)
        self.restart = restart


class UnknownHostKey(HostUnreachable):
    """A host whose key is not in known_hosts; the caller may ask a person and try again."""

    stage = "hostkey"

    def __init__(
        self, host: str, entry: str, key_type: str, key_base64: str, fingerprint: str, known_hosts: str
    ) -> None:
        super().__init__(
            f"the host key is not known: {key_type} {fingerprint}",
            host=host,
            lines=[f"no line of {known_hosts} is about {entry}"],
            fix="compare the fingerprint, then add --accept-new-host-keys or connect once with ssh",
        )
        self.entry = entry
        self.key_type = key_type
        self.key_base64 = key_base64
        self.fingerprint = fingerprint
        self.known_hosts = known_hosts


class LockedKey(HostUnreachable):
    """A key file behind a passphrase; the caller may ask a person and try again."""

    stage = "login"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the SSH key {path} is protected by a passphrase",
            lines=["no other key was accepted"],
            fix=f"load it into an agent first: ssh-add {shlex.quote(path)}",
        )
        self.path = path


class TookTooLong(HvdockerError):
    """A command that was not done within its time limit; it may still be running there."""


class Locked(HvdockerError):
    exit_code = ExitCode.LOCKED


class NotEnoughSlots(HvdockerError):
    exit_code = ExitCode.NO_SLOTS


class JobFailed(HvdockerError):
    exit_code: int = ExitCode.JOB_FAILED


class JobStopped(HvdockerError):
    exit_code = ExitCode.JOB_STOPPED


class Interrupted(HvdockerError):
    exit_code = ExitCode.INTERRUPTED


class HostErrors(HvdockerError):
    """What went wrong on several hosts; equal failures are shown once with all their hosts."""

    def __init__(self, what: str, errors: Iterable[HvdockerError]) -> None:
        self.errors = tuple(errors)
        super().__init__(what)
        self.exit_code = worst(error.exit_code for error in self.errors)

    def grouped(self) -> list[tuple[list[str], HvdockerError]]:
        groups: dict[tuple[object, ...], tuple[list[str], HvdockerError]] = {}
        for error in self.errors:
            key = (error.what, error.lines, error.fix)
            groups.setdefault(key, ([], error))[0].append(error.host or "?")
        return list(groups.values())


def worst(codes: Iterable[int]) -> ExitCode:
    """Unreachable hosts weigh more than unfit ones, and both more than a plain error."""
    seen = set(codes)
    order = (ExitCode.UNREACHABLE, ExitCode.UNFIT, ExitCode.LOCKED, ExitCode.NO_SLOTS, ExitCode.USAGE)
    return next((code for code in order if code in seen), ExitCode.ERROR)


def raise_all(what: str, errors: Sequence[HvdockerError]) -> None:
    """Nothing for none, the error itself for one, a group for several."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise HostErrors(what, errors)
