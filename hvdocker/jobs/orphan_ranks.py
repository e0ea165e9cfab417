"""Ranks of a job whose supervisor is dead: those on other hosts have not noticed yet, or take their grace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hvdocker.errors import Interrupted

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# Whoever presses Ctrl-C twice does not want to wait long for a host that died meanwhile; a busy one takes
# seconds.
WAIT_S = 15.0


@dataclass(frozen=True)
class Leftover:
    """`workers` are the containers in which ranks of the job may be left, by host."""

    job: str
    workers: Mapping[str, str]
    links: Mapping[str, HostLink]
    wait_s: float = WAIT_S

    def end_at_once(self) -> dict[str, str]:
        """On all hosts side by side; tells by host why it is not known whether that was done."""
        from hvdocker.engine.container_exec import Patience, end_ranks
        from hvdocker.transport.pool import each_within

        at_once = Patience(0.0)
        reached = [host for host in self.workers if host in self.links]
        outcomes = each_within(
            reached,
            lambda host: end_ranks(self.links[host], self.workers[host], self.job, at_once),
            self.wait_s,
        )
        late = f"did not answer in {self.wait_s:.0f} s"
        told = {host: late if host in self.links else "it is not connected" for host in self.workers}
        told |= {host: error.what for host, error in outcomes.failed.items()}
        return {host: why for host, why in told.items() if host not in outcomes.done}


def interrupted(job: str, flag: str, missed: Mapping[str, str]) -> Interrupted:
    """`missed` are the hosts on which ranks may be left, and why."""
    if not missed:
        return Interrupted(f"job {job} was stopped on all hosts by Ctrl-C")
    return Interrupted(
        f"job {job} was stopped by Ctrl-C; ranks may be left on {', '.join(missed)}",
        lines=[f"{host}: {why}" for host, why in missed.items()],
        fix="they end by themselves some 15 s after they lost their head; to end what is left there: "
        f"hvdocker stop {job}{flag}",
    )
