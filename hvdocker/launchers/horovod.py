"""The command line of horovodrun with Gloo, for fixed hosts and for Horovod Elastic. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hvdocker.protocol.placement import Placement
from hvdocker.protocol.resilience import Elastic

DISCOVERY_SCRIPT = "/opt/hvdocker/bin/discover"
# Seconds until horovodrun tries a failed host again, growing from the first value to the second. By default
# it never tries the host again.
COOLDOWN_S = ("1", "10")


class Horovodrun:
    """Builds the command line of horovodrun on fixed hosts (`argv`, see Launcher). `start_timeout_s` is how long
    horovodrun waits until all ranks have started. `tuning` are Horovod's tuning flags, such as `--cycle-time-ms 5`,
    passed on unchanged.

    `--gloo` is given because horovodrun takes seconds to detect Gloo (it imports TensorFlow). `--disable-cache` is
    given because results cached for earlier containers may be wrong for new ones."""

    def __init__(self, start_timeout_s: int = 120, tuning: Sequence[str] = ()) -> None:
        self.start_timeout_s = start_timeout_s
        self.tuning = tuple(tuning)

    def argv(self, placement: Placement, addresses: Mapping[str, str], port: int) -> tuple[str, ...]:
        # Addresses, not names: horovodrun treats a name that does not resolve to a local address as a remote host.
        hosts = ",".join(f"{addresses[share.host]}:{share.slots}" for share in placement.shares)
        words = ("horovodrun", "-np", str(placement.np), "-H", hosts, "-p", str(port), "--gloo")
        return (*words, "--disable-cache", "--start-timeout", str(self.start_timeout_s), *self.tuning)


class ElasticHorovodrun:
    """Builds the command line of horovodrun for an elastic job (`argv`, see Launcher). `elastic` has the least and the
    greatest number of ranks of the job. The command line names no hosts: while the job runs, horovodrun runs
    DISCOVERY_SCRIPT repeatedly, which prints the current hosts. `start_timeout_s` and `tuning` are passed on as in
    Horovodrun."""

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
