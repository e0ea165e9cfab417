"""The launcher's words: horovodrun with Gloo, every rank through the rank wrapper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic

DISCOVER = "/opt/hvdocker/bin/discover"
# A host that failed is tried again after so many seconds, growing from the first to the second: by default
# Horovod never does.
COOLDOWN_S = ("1", "10")


class Horovodrun:
    """Gloo is named because probing for it costs seconds; the cache is off because containers change."""

    def __init__(self, start_timeout_s: int = 120, tuning: Sequence[str] = ()) -> None:
        self.start_timeout_s = start_timeout_s
        self.tuning = tuple(tuning)

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]:
        # Addresses, not names: a name that does not resolve to a local address counts as remote.
        hosts = ",".join(f"{addresses[share.host]}:{share.slots}" for share in placement.shares)
        words = ("horovodrun", "-np", str(placement.np), "-H", hosts, "-p", str(port), "--gloo")
        return (*words, "--disable-cache", "--start-timeout", str(self.start_timeout_s), *self.tuning)


class ElasticHorovodrun:
    """No hosts: horovodrun asks the discovery script for them, again and again while the job runs."""

    def __init__(self, elastic: Elastic, start_timeout_s: int = 120, tuning: Sequence[str] = ()) -> None:
        self.elastic = elastic
        self.start_timeout_s = start_timeout_s
        self.tuning = tuple(tuning)

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]:
        most = self.elastic.max_np
        bounds = ("--min-np", str(self.elastic.min_np), *(("--max-np", str(most)) if most else ()))
        words = ("horovodrun", "-np", str(placement.np), *bounds, "--host-discovery-script", DISCOVER)
        started = ("-p", str(port), "--gloo", "--disable-cache", "--start-timeout", str(self.start_timeout_s))
        return (*words, *started, "--blacklist-cooldown-range", *COOLDOWN_S, *self.tuning)
