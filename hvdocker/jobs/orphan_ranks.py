"""End the ranks of a job whose supervisor was killed. A killed supervisor cannot end the ranks on other hosts.
They would end by themselves, but only after they noticed the loss and their grace period passed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hvdocker.errors import Interrupted

if TYPE_CHECKING:
    from hvdocker.transport.link import HostLink

# After a second Ctrl-C the user should not wait long for a host that died; a busy host needs seconds.
WAIT_S = 15.0


@dataclass(frozen=True)
class OrphanRanks:
    """The ranks that a killed supervisor may have left. `workers` has, by host, the name of the container in which
    ranks of the job may still run. `links` has the links to those hosts that are connected. `wait_s` is how long to
    wait for the hosts to answer, in seconds."""

    job: str
    workers: Mapping[str, str]
    links: Mapping[str, HostLink]
    wait_s: float = WAIT_S

    def end_at_once(self) -> dict[str, str]:
        """End the ranks on all hosts in parallel, without a grace period. Return the hosts on which ranks may be left,
        each with the reason, such as a lost connection. Hosts where the ranks were ended are not in the result."""
        from hvdocker.engine.container_exec import GracePeriod, end_ranks
        from hvdocker.transport.pool import for_each_host_within

        at_once = GracePeriod(0.0)
        reached = [host for host in self.workers if host in self.links]
        outcomes = for_each_host_within(
            reached, lambda host: end_ranks(self.links[host], self.workers[host], self.job, at_once), self.wait_s
        )
        late = f"did not answer in {self.wait_s:.0f} s"
        told = {host: late if host in self.links else "it is not connected" for host in self.workers}
        told |= {host: error.what for host, error in outcomes.failed.items()}
        return {host: why for host, why in told.items() if host not in outcomes.done}


def interrupted_error(job: str, flag: str, missed: Mapping[str, str]) -> Interrupted:
    """Return the error for a job that was stopped by Ctrl-C. `missed` has, by host, why ranks may be left there; empty
    if none are. `flag` is what the suggested command needs to select the cluster, such as ` --cluster NAME`, or
    empty."""
    if not missed:
        return Interrupted(f"job {job} was stopped on all hosts by Ctrl-C")
    return Interrupted(
        f"job {job} was stopped by Ctrl-C; ranks may be left on {', '.join(missed)}",
        lines=[f"{host}: {why}" for host, why in missed.items()],
        fix="they end by themselves some 15 s after they lost their head; to end what is left there: "
        f"hvdocker stop {job}{flag}",
    )
