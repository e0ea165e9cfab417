"""The exceptions of hvdocker and the exit codes. Pure.

An error says what failed, on which host, with which evidence, and what to do next. Only `console` prints an
error, and only `cli` exits with its code."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from enum import IntEnum

# Pruning removes only images without a name and build caches. Stopped containers stay: they are ended jobs with
# their logs. Images that have a name may be somebody's, so that the user has to choose.
FREE_IMAGES_FIX = (
    "free some space: docker image prune && docker builder prune; "
    "if that is too little, remove images that nobody needs: docker images, docker rmi IMAGE"
)


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
    """An error that is shown to the user.

    `what` says what failed. `host` is the host on which it failed, None if it concerns no single host. `command` can
    be pasted into a shell to see the failure. `lines` are the evidence, such as the last lines of output. `fix` says
    what to do next. `exit_code` is that of hvdocker; most subclasses have their own."""

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
        """Set the host of the error if it has none yet, and return the error itself."""
        self.host = self.host or host
        return self

    def __str__(self) -> str:
        return f"{self.host}: {self.what}" if self.host else self.what


class UsageProblem(HvdockerError):
    """The user gave a wrong flag, argument or file."""

    exit_code = ExitCode.USAGE


class NoCluster(HvdockerError):
    """The user named no inventory, and none was found.

    There is no .hvdocker/current.json in the current folder or above, and no inventory.yaml or inventory.yml in the
    current folder."""

    exit_code = ExitCode.USAGE


class InventoryError(UsageProblem):
    """All problems of one inventory, raised as one error.

    `problems` has one line of text for each problem. The message shows at most MOST_SHOWN of them."""

    MOST_SHOWN = 30

    def __init__(self, source: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        noun = "problem" if count == 1 else "problems"
        more = [f"… and {count - self.MOST_SHOWN} more"] if count > self.MOST_SHOWN else []
        super().__init__(f"{source} has {count} {noun}", lines=(*self.problems[: self.MOST_SHOWN], *more))


class HostUnfit(HvdockerError):
    """A host responds, but lacks something that is needed, such as a working Docker engine or free disk."""

    exit_code = ExitCode.UNFIT


class HostUnreachable(HvdockerError):
    """A host cannot be reached, or the connection to it was lost.

    `stage` is the phase of connecting that failed: `resolves` (name lookup), `answers` (TCP connection and SSH
    handshake), `hostkey` or `login`. It is empty if the phase is unknown."""

    exit_code = ExitCode.UNREACHABLE
    stage = ""


class HeadLost(HostUnreachable):
    """The head of a job (the host of its master) was lost, and the job ended with it.

    `restart` is the highest restart number of the job's ranks that is known. The next restart gets a higher number."""

    def __init__(self, what: str, *, restart: int = 0, lines: Sequence[str] = (), fix: str | None = None) -> None:
        super().__init__(what, lines=lines, fix=fix)
        self.restart = restart


class UnknownHostKey(HostUnreachable):
    """The key of a host is not in known_hosts. The caller may ask the user to trust the key, and then connect again.

    `entry` is the host in the notation of known_hosts, such as `[gpu-a]:2222`. `key_type`, `key_base64` and
    `fingerprint` describe the key. `known_hosts` is the path of the file to which a trusted key is added."""

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


class PassphraseRequired(HostUnreachable):
    """The key file `path` needs a passphrase, and the host accepted no other key.

    The caller may ask the user for the passphrase, and then connect again."""

    stage = "login"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the SSH key {path} is protected by a passphrase",
            lines=["no other key was accepted"],
            fix=f"load it into an agent first: ssh-add {shlex.quote(path)}",
        )
        self.path = path


class ChannelRefused(HostUnfit):
    """The SSH server of the host allows fewer sessions on one connection than hvdocker needs (MaxSessions)."""


class CommandTimeout(HvdockerError):
    """A command did not finish within its time limit. It may still be running on the host."""


class Locked(HvdockerError):
    """Another hvdocker command holds the lock of a host, or this command has lost a lock that it held."""

    exit_code = ExitCode.LOCKED


class NotEnoughSlots(HvdockerError):
    exit_code = ExitCode.NO_SLOTS


class JobFailed(HvdockerError):
    """A job failed. `exit_code` is 100 by default.

    With --propagate-exit it is the exit code of the rank that failed first, if a rank caused the failure. Codes that
    docker and ssh use themselves (125 to 127 and 255) are not passed on."""

    exit_code: int = ExitCode.JOB_FAILED


class JobStopped(HvdockerError):
    exit_code = ExitCode.JOB_STOPPED


class Interrupted(HvdockerError):
    exit_code = ExitCode.INTERRUPTED


class HostErrors(HvdockerError):
    """The errors of several hosts, raised as one error. Its exit code is the gravest of their exit codes."""

    def __init__(self, what: str, errors: Iterable[HvdockerError]) -> None:
        self.errors = tuple(errors)
        super().__init__(what)
        self.exit_code = gravest_exit_code(error.exit_code for error in self.errors)

    def grouped(self) -> list[tuple[list[str], HvdockerError]]:
        """Return each distinct error once, with the names of the hosts on which it occurred.

        Errors are equal if their message, lines and fix are equal."""
        groups: dict[tuple[object, ...], tuple[list[str], HvdockerError]] = {}
        for error in self.errors:
            key = (error.what, error.lines, error.fix)
            groups.setdefault(key, ([], error))[0].append(error.host or "?")
        return list(groups.values())


def gravest_exit_code(codes: Iterable[int]) -> ExitCode:
    """Return the gravest of the exit codes.

    The order is UNREACHABLE, UNFIT, LOCKED, NO_SLOTS, USAGE. Return ERROR if the codes contain none of these."""
    seen = set(codes)
    order = (ExitCode.UNREACHABLE, ExitCode.UNFIT, ExitCode.LOCKED, ExitCode.NO_SLOTS, ExitCode.USAGE)
    return next((code for code in order if code in seen), ExitCode.ERROR)


def raise_all(what: str, errors: Sequence[HvdockerError]) -> None:
    """Raise the errors: the error itself if there is only one, or HostErrors with the message `what` if there are
    several.

    Do nothing if there is none."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise HostErrors(what, errors)
