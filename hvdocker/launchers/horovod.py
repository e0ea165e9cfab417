"""The command line of horovodrun with Gloo, for fixed hosts and for Horovod Elastic. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic

DISCOVERY_SCRIPT = "/opt/hvdocker/bin/discover"
# Seconds until a failed host is tried again, growing from the first value to the second. By default Horovod
# never tries it again.
COOLDOWN_S = ("1", "10")


class Horovodrun:
    """horovodrun on fixed hosts.

    `--gloo` is given because detecting it takes seconds (it imports TensorFlow), `--disable-cache` because
    containers change."""

    def __init__(self, start_timeout_s: int = 120, tuning: Sequence[str] = ()) -> None:
        self.start_timeout_s = start_timeout_s
        self.tuning = tuple(tuning)

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]:
        # Addresses, not names: horovodrun takes a name that does not resolve to a local address for remote.
        hosts = ",".join(f"{addresses[share.host]}:{share.slots}" for share in placement.shares)
        words = ("horovodrun", "-np", str(placement.np), "-H", hosts, "-p", str(port), "--gloo")
        return (*words, "--disable-cache", "--start-timeout", str(self.start_timeout_s), *self.tuning)


class ElasticHorovodrun:
    """horovodrun for an elastic job. It is given no hosts: it runs the discovery script repeatedly while the
    job runs."""

    def __init__(self, elastic: Elastic, start_timeout_s: int = 120, tuning: Sequence[str] = ()) -> None:
        self.elastic = elastic
        self.start_timeout_s = start_timeout_s
        self.tuning = tuple(tuning)

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]:
        most = self.elastic.max_np
        bounds = ("--min-np", str(self.elastic.min_np), *(("--max-np", str(most)) if most else ()))
        words = ("horovodrun", "-np", str(placement.np), *bounds, "--host-discovery-script", DISCOVERY_SCRIPT)
        started = ("-p", str(port), "--gloo", "--disable-cache", "--start-timeout", str(self.start_timeout_s))
        return (*words, *started, "--blacklist-cooldown-range", *COOLDOWN_S, *self.tuning)
