"""Parses the output of the doctor's scripts (`facts/commands.py`) into `MachineSeen`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hvdocker.doctor.facts.facts import DiskSeen, GpuProcessSeen, GpuState, InfinibandPort, MachineSeen
from hvdocker.observe.probe import ProbeAnswer, read_probe

_KB = 1024


def read_machine(text: str) -> MachineSeen | None:
    """Return the facts in `text`, the output of the commands of `query_machine` and `query_cards`.

    Return None if the command of `query_machine` did not run to its end."""
    answer = read_probe(text)
    if not answer.is_complete:
        return None
    memory, available = answer.number("memtotal", 0), answer.number("memfree", -1)
    selinux = answer.values.get("selinux")
    return MachineSeen(
        kernel=answer.values.get("kernel", ""),
        hostname=answer.values.get("hostname", ""),
        memory_bytes=memory * _KB or None,
        available_bytes=available * _KB if available >= 0 else None,
        cpus=answer.number("cpus", 0) or None,
        load=_load(answer.values.get("load", "")),
        disks=tuple(_disks(answer)),
        user=answer.values.get("user", ""),
        unwritable=tuple(answer.all("unwritable")),
        gpus=tuple(_gpus(answer.all("gpu"))),
        gpu_error=" ".join(answer.all("gpuerror")) or None,
        gpu_processes=tuple(_processes(answer.all("gpuuser"))),
        nvidia_cards=len(answer.all("card")),
        infiniband_ports=tuple(_infiniband_ports(answer.all("fabric"))),
        is_selinux_enforcing=None if selinux is None else selinux == "1",
        has_apparmor=answer.values.get("apparmor") == "Y",
        has_apparmor_parser="parser" in answer.values,
        resolved={name: tuple(addresses.split()) for name, _, addresses in _parts(answer.all("resolves"), " ")},
        stale_feeds=tuple(answer.all("feed")),
        contexts={path: label.strip("-?") for label, _, path in _parts(answer.all("context"), " ")},
    )


def _parts(lines: Iterable[str], separator: str) -> Iterator[tuple[str, str, str]]:
    return (line.partition(separator) for line in lines)


def _load(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text) else None


def _disks(answer: ProbeAnswer) -> Iterator[DiskSeen]:
    inodes = {(what, path): numbers for what, path, numbers in _sizes(answer.all("inodes"))}
    for what, path, (total, free) in _sizes(answer.all("disk")):
        nodes = inodes.get((what, path), (0, 0))
        # File systems that allocate inodes on demand (btrfs) report 0.
        has_nodes = nodes[0] > 0
        yield DiskSeen(
            what, path, total * _KB, free * _KB, nodes[0] if has_nodes else None, nodes[1] if has_nodes else None
        )


def _sizes(lines: Iterable[str]) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Parse lines about disks, whose numbers are from `df`. Yield (use of the disk, path, (total, free)) for each line.

    A negative free size counts as 0."""
    for line in lines:
        what, total, free, path = (*line.split(" ", 3), "", "", "")[:4]
        if total.isdigit() and free.lstrip("-").isdigit():
            yield what, path, (int(total), max(0, int(free)))


def _gpus(lines: Iterable[str]) -> Iterator[GpuState]:
    for line in lines:
        fields = [field.strip() for field in line.split(",")]
        if len(fields) < 6 or not fields[0].isdigit():
            continue
        persistence, mig = (*fields[6:8], "", "")[:2]
        yield GpuState(
            index=int(fields[0]),
            uuid=fields[1],
            model=fields[2],
            memory_mb=_number(fields[3]),
            used_mb=_number(fields[4]),
            driver=fields[5],
            is_persistent={"Enabled": True, "Disabled": False}.get(persistence),
            is_mig=mig == "Enabled",
        )


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _processes(lines: Iterable[str]) -> Iterator[GpuProcessSeen]:
    """Parse the lines of GPU processes. A line is split from both ends, because the program's name may contain
    commas."""
    for line in lines:
        gpu, pid, rest = (*line.split(",", 2), "", "")[:3]
        name, used, user = (["", "", *rest.rsplit(",", 2)])[-3:]
        yield GpuProcessSeen(gpu.strip(), pid.strip(), name.strip(), used.strip(), user.strip())


def _infiniband_ports(lines: Iterable[str]) -> Iterator[InfinibandPort]:
    """Parse the lines of InfiniBand ports. The kernel writes a state as `4: ACTIVE`; only the word `ACTIVE` is kept."""
    for line in lines:
        device, port, state, rate, layer = (*line.split("|"), "", "", "", "", "")[:5]
        yield InfinibandPort(device, port, state.rpartition(":")[2].strip(), rate, layer)
