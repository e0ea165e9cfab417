"""Judges the result of the trial container: whether it started, its shared memory and its limits. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from hvdocker.doctor.facts.facts import MachineSeen, TrialResult
from hvdocker.doctor.facts.trial_commands import manual_command
from hvdocker.doctor.judges.finding import bad, good, warn
from hvdocker.doctor.report import Finding
from hvdocker.units import show_bytes

LOW_SHM_BYTES = 64 << 20
LOW_MEMLOCK_BYTES = 64 << 20
LOW_OPEN_FILES = 4096
RESTART = "docker info; sudo systemctl restart docker"


def judge_container(trial: TrialResult | None, machine: MachineSeen | None) -> Iterator[Finding]:
    if trial is None or trial.is_substitute:
        return  # the image check already says that the image is missing
    if trial.error or trial.inside is None:
        command, said = manual_command(trial.image, trial.has_gpus), [trial.error or "it said nothing"]
        is_full = "no space left on device" in (trial.error or "")
        fix = "free space on the disk that the error names: df -h" if is_full else RESTART
        yield bad("container", "a container of the image does not start", said, command, fix)
        return
    python = trial.inside.versions.get("python", "?")
    yield good("container", f"starts; Python {python}")
    yield _shm(trial.inside.shm_bytes or 0)
    yield _memlock(trial.inside.memlock_bytes, _needs_memlock(machine))
    yield _files(trial.inside.open_files)


def _needs_memlock(machine: MachineSeen | None) -> bool:
    """Whether the host needs a high limit for locked memory: it has GPUs or an active InfiniBand port.

    Only these use pinned memory. False if nothing is known about the machine."""
    return machine is not None and bool(machine.gpus or any(port.is_active for port in machine.infiniband_ports))


def _shm(size_bytes: int) -> Finding:
    if size_bytes <= LOW_SHM_BYTES:
        evidence = ["NCCL and data loaders hand data over through it, and die without a word where it is full"]
        return warn(
            "shm",
            f"only {show_bytes(size_bytes)}",
            evidence,
            "df -h /dev/shm",
            "say `shm: 1GB` or more in the inventory",
        )
    return good("shm", show_bytes(size_bytes))


def _memlock(limit: int | None, is_needed: bool) -> Finding:
    if limit is None:
        return good("memlock", "unlimited")
    if is_needed and limit < LOW_MEMLOCK_BYTES:
        evidence = ["GPUs and InfiniBand pin memory: NCCL falls back to slower ways, or fails"]
        fix = 'set "default-ulimits": {"memlock": {"Name": "memlock", "Hard": -1, "Soft": -1}} in ' \
              "/etc/docker/daemon.json and restart docker"  # fmt: skip
        return warn("memlock", f"only {show_bytes(limit)}", evidence, "ulimit -l", fix)
    return good("memlock", show_bytes(limit))


def _files(limit: int | None) -> Finding:
    if limit is not None and limit < LOW_OPEN_FILES:
        fix = 'set "default-ulimits": {"nofile": {"Name": "nofile", "Hard": 65536, "Soft": 65536}} in ' \
              "/etc/docker/daemon.json and restart docker"  # fmt: skip
        return warn("open-files", f"at most {limit}", ["large clusters and data sets need more"], "ulimit -n", fix)
    return good("open-files", "unlimited" if limit is None else str(limit))
