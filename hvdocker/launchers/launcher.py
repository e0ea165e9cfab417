"""The base class of launchers, and LaunchRequest, which tells a launcher about a job. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from hvdocker.errors import UsageProblem
from hvdocker.protocol.output import Line
from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic

START_TIMEOUT_S = 120


@dataclass(frozen=True)
class LaunchRequest:
    """The data about a job from which a launcher makes its options. `addresses` has the training address of each host,
    `port` is the SSH port of the workers. `np` is the number of ranks; it may be larger than the number of slots if the
    launcher is a pool. `elastic` has the limits for the number of ranks of an elastic job, None for any other job.
    `flags` are the flags that the user passes on to the launcher, with their values. `start_timeout_s` is how long all
    ranks may take to start. `fails_fast` is the flag `--fail-fast`."""

    placement: Placement
    addresses: Mapping[str, str]
    port: int
    np: int
    elastic: Elastic | None = None
    flags: tuple[str, ...] = ()
    start_timeout_s: int = START_TIMEOUT_S
    fails_fast: bool = False

    @property
    def hosts_text(self) -> str:
        """The hosts by address with their slots, such as `10.0.0.12:1,10.0.0.11:5`."""
        return ",".join(f"{self.addresses[share.host]}:{share.slots}" for share in self.placement.shares)


class Launcher:
    """A way to start the ranks of a job. Subclasses change what differs.

    `name` is the value of `--launcher` and of the label `hvdocker.launcher`. `frameworks` are the packages that the
    launcher needs in the image. `image` is the short name of an image of ours that has them, empty if there is none:
    then the job's requirements have to name them. `default_for` is a framework: this launcher is the default for an
    image with that framework. If this is so for several launchers, the first of them in LAUNCHERS is the default.

    `packages` must have the same version on all hosts. `is_elastic` allows `--min-np`. `limits_start` allows
    `--start-timeout`. `is_pool` means that ranks are independent, and wait for free slots if there are more ranks than
    slots. `flags` are the flags that the launcher takes from the user, each with its number of values; `elastic_flags`
    are those of them that need `--min-np`."""

    name = ""
    frameworks: tuple[str, ...] = ()
    image = ""
    default_for = ""
    packages: tuple[str, ...] = ()
    is_elastic = False
    limits_start = False
    is_pool = False
    flags: ClassVar[Mapping[str, int]] = {}
    elastic_flags: tuple[str, ...] = ()

    def check_flags(self, words: tuple[str, ...], is_elastic: bool) -> None:
        """Raise UsageProblem if `words`, the flags for the launcher with their values, has a flag that this launcher
        does not take, a wrong value, or a flag that needs `--min-np` in a job that is not elastic."""
        for flag, values in self.split_flags(words):
            if flag in self.elastic_flags and not is_elastic:
                fix = "--min-np N says with how few ranks the job goes on"
                raise UsageProblem(f"{flag} goes with --min-np", fix=fix)
            self.check_values(flag, values)

    def split_flags(self, words: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each flag in `words` with its values. Raise UsageProblem for a flag that this launcher does not
        take."""
        rest = words
        while rest:
            flag = rest[0]
            if flag not in self.flags:
                own = f"its flags are {', '.join(self.flags)}" if self.flags else "it takes no flags"
                raise UsageProblem(f"the launcher {self.name} has no flag {flag}", fix=own)
            count = 1 + self.flags[flag]
            yield flag, rest[1:count]
            rest = rest[count:]

    def check_values(self, flag: str, values: tuple[str, ...]) -> None:
        """Raise UsageProblem if the values of a flag are wrong. The base class checks nothing, because the launcher's
        program in the container checks the values."""

    def options(self, job: LaunchRequest) -> dict[str, object]:
        """Return the launcher's options for job.json, as JSON values. The part of the launcher in the image reads
        them."""
        return {}

    def preview(self, job: LaunchRequest) -> tuple[str, ...]:
        """Return words that show the user how the ranks are started, such as a command line. A plan shows these words
        before the command of the ranks."""
        return (self.name, "-np", str(job.np), "-H", job.hosts_text, *job.flags)

    def filter(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Yield the lines of a job's output without those that the launcher wrote itself and that say nothing new. The
        base class yields all lines."""
        return iter(lines)


def check_number(flag: str, values: tuple[str, ...], least: int) -> None:
    """Raise UsageProblem unless the only value of `flag` is a whole number of at least `least`."""
    (value,) = values
    if not value.isascii() or not value.isdecimal() or int(value) < least:
        raise UsageProblem(f"{flag} should be a whole number, at least {least}, got {value!r}")
