"""The launcher `horovod`: horovodrun with Gloo, on fixed hosts or as Horovod Elastic. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from hvdocker.launchers.horovod_output import without_launcher_traceback
from hvdocker.launchers.launcher import Launcher, LaunchRequest, check_number
from hvdocker.protocol.output import Line
from hvdocker.protocol.resilience import Elastic

DISCOVERY_SCRIPT = "/opt/hvdocker/bin/discover"
# Seconds until horovodrun tries a failed host again, growing from the first value to the second. By default
# it never tries the host again.
COOLDOWN_S = ("1", "10")


class Horovod(Launcher):
    """The launcher `horovod`. It builds the command line of horovodrun, which the image completes and runs.

    `--gloo` is given because horovodrun takes seconds to detect Gloo (it imports TensorFlow). `--disable-cache` is
    given because results cached for earlier containers may be wrong for new ones. Horovod does not accept IPv6
    addresses in -H. `flags` has almost all flags of horovodrun 0.28 in the groups tuneable, autotune, timeline,
    stall check and logging, and a few from other groups. None of them selects hosts or numbers of ranks."""

    name = "horovod"
    frameworks = ("horovod",)
    image = "tensorflow"
    default_for = "horovod"
    packages = ("tensorflow", "horovod", "nccl")
    is_elastic = True
    limits_start = True
    flags: ClassVar[Mapping[str, int]] = {
        "--fusion-threshold-mb": 1, "--cycle-time-ms": 1, "--cache-capacity": 1,
        "--hierarchical-allreduce": 0, "--no-hierarchical-allreduce": 0,
        "--hierarchical-allgather": 0, "--no-hierarchical-allgather": 0,
        "--autotune": 0, "--no-autotune": 0, "--autotune-log-file": 1,
        "--autotune-warmup-samples": 1, "--autotune-steps-per-sample": 1,
        "--autotune-bayes-opt-max-samples": 1, "--autotune-gaussian-process-noise": 1,
        "--timeline-filename": 1, "--timeline-mark-cycles": 0, "--no-timeline-mark-cycles": 0,
        "--stall-check": 0, "--no-stall-check": 0,
        "--stall-check-warning-time-seconds": 1, "--stall-check-shutdown-time-seconds": 1,
        "--log-level": 1, "--log-with-timestamp": 0, "--log-without-timestamp": 0,
        "--log-hide-timestamp": 0, "--prefix-output-with-timestamp": 0,
        "--thread-affinity": 1, "--gloo-timeout-seconds": 1, "--verbose": 0,
        "--elastic-timeout": 1, "--reset-limit": 1,
    }  # fmt: skip
    elastic_flags = ("--elastic-timeout", "--reset-limit")

    def check_values(self, flag: str, values: tuple[str, ...]) -> None:
        # The supervisor reads these values too.
        if flag in self.elastic_flags:
            check_number(flag, values, least=1)

    def options(self, job: LaunchRequest) -> dict[str, object]:
        return {"words": list(self.preview(job))}

    def preview(self, job: LaunchRequest) -> tuple[str, ...]:
        if job.elastic:
            return _elastic_words(job, job.elastic)
        # Addresses, not names: horovodrun treats a name that does not resolve to a local address as a remote host.
        words = ("horovodrun", "-np", str(job.placement.np), "-H", job.hosts_text, "-p", str(job.port), "--gloo")
        return (*words, "--disable-cache", "--start-timeout", str(job.start_timeout_s), *job.flags)

    def filter(self, lines: Iterable[Line]) -> Iterator[Line]:
        return without_launcher_traceback(lines)


def _elastic_words(job: LaunchRequest, elastic: Elastic) -> tuple[str, ...]:
    """Return the command line of an elastic job. It names no hosts: while the job runs, horovodrun runs
    DISCOVERY_SCRIPT repeatedly, which prints the current hosts."""
    bounds = ("--min-np", str(elastic.min_np), *(("--max-np", str(elastic.max_np)) if elastic.max_np else ()))
    words = ("horovodrun", "-np", str(job.placement.np), *bounds, "--host-discovery-script", DISCOVERY_SCRIPT)
    started = ("-p", str(job.port), "--gloo", "--disable-cache", "--start-timeout", str(job.start_timeout_s))
    return (*words, *started, "--blacklist-cooldown-range", *COOLDOWN_S, *job.flags)
