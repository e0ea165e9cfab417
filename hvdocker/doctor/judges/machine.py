"""Judges the machine itself: memory, processors, clock, disks, InfiniBand. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from hvdocker.cluster.plan.fitness import MIN_HOME_BYTES
from hvdocker.doctor.facts.facts import ClockSeen, DiskSeen, MachineSeen
from hvdocker.doctor.judges.finding import bad, good, unknown, warn
from hvdocker.doctor.report import Finding
from hvdocker.errors import FREE_IMAGES_FIX
from hvdocker.inventory.inventory import Inventory
from hvdocker.shell.command import Command
from hvdocker.units import GIB, show_bytes, show_seconds

LITTLE_MEMORY = 2 * GIB
LITTLE_DISK = 10 * GIB
LITTLE_SHARE = 0.1
FEW_INODES = 10_000
SLOW_CLOCK_S = 1.0


def judge_memory(machine: MachineSeen, inventory: Inventory) -> Finding:
    total, free = machine.memory_bytes, machine.available_bytes
    if total is None:
        return unknown("memory", "not told", command="cat /proc/meminfo")
    shown = show_bytes(total) if free is None else f"{show_bytes(free)} of {show_bytes(total)} free"
    for key, wanted in (("shm", inventory.shm_bytes), ("memory", inventory.memory_bytes)):
        if wanted and wanted > total:
            what = f"`{key}: {show_bytes(wanted)}` is more than it has"
            evidence = [f"it has {show_bytes(total)}: a container that uses all of it is killed"]
            return warn("memory", what, evidence, "free -h", f"lower `{key}:` in the inventory")
    if free is not None and free < LITTLE_MEMORY:
        fix = "end what uses it: ps aux --sort=-rss | head"
        return warn("memory", f"only {shown}", ["TensorFlow alone takes about 1 GB per rank"], "free -h", fix)
    return good("memory", shown)


def judge_cpu(machine: MachineSeen, slots: int) -> Finding:
    if machine.cpus is None:
        return unknown("cpu", "not told", command="nproc")
    load = "" if machine.load is None else f", load {machine.load:.1f}"
    shown = f"{machine.cpus} cores{load}"
    if machine.cpus < slots:
        evidence = [f"{slots} slots on {machine.cpus} cores: ranks wait for each other"]
        return warn(
            "cpu",
            f"fewer cores than slots: {shown}",
            evidence,
            "nproc",
            f"say `slots: {machine.cpus}` for it in the inventory",
        )
    if machine.load is not None and machine.load > 2 * machine.cpus:
        evidence = ["others are at work there: every step waits for the slowest rank"]
        return warn("cpu", f"busy: {shown}", evidence, "uptime", "look who: ps aux --sort=-%cpu | head")
    return good("cpu", shown)


def judge_clock(clock: ClockSeen | None) -> Finding:
    """Judge how far the host's clock differs from the controller's. `clock` is None if it could not be read.

    The finding is WARN above SLOW_CLOCK_S, and never BAD: each lock, ticket and job is timed by the clock of a single
    host, so training works despite the difference. Half of the round trip is subtracted from the difference, because
    the measurement may be wrong by that much."""
    if clock is None:
        return unknown("clock", "not told", command="date +%s")
    off_s = max(0.0, abs(clock.offset_s) - clock.round_trip_s / 2)
    way = "ahead of" if clock.offset_s > 0 else "behind"
    if off_s <= SLOW_CLOCK_S:
        return good("clock", f"within {max(off_s, clock.round_trip_s / 2):.2f} s")
    shown = f"{show_seconds(off_s)} {way} this machine"
    evidence = [
        f"asked over a round trip of {clock.round_trip_s * 1000:.0f} ms",
        "it trains all the same; ages of jobs, and which of them is the newest, are told by the hosts' clocks",
    ]
    return warn("clock", shown, evidence, "date", "sudo timedatectl set-ntp true")


def judge_disks(machine: MachineSeen, needed_bytes: int) -> Iterator[Finding]:
    """Yield a finding for each disk.

    `needed_bytes` is the space that loading the cluster's image still needs on the disk where the engine stores
    images."""
    for disk in machine.disks:
        yield _disk(disk, needed_bytes if disk.what == "images" else 0, machine)


def _unwritable(check: str, folder: str, machine: MachineSeen) -> Finding:
    """Return the BAD finding for a folder to which the SSH user has no write permission, but needs it.

    The fix is a sudo command that names the SSH user, because often another user has to run it."""
    quoted, user = shlex.quote(folder), shlex.quote(machine.user) if machine.user else '"$USER"'
    deep = "-R " if "/.hvdocker" in folder else ""
    own = "sudo chmod 1777 /tmp" if folder == "/tmp" else f"sudo chown {deep}{user} {quoted}"
    evidence = [f"{machine.user or 'this user'} may not write to {folder}"]
    return bad(check, f"{folder} is not writable", evidence, f"ls -ld {quoted}", f"on the host: {own}")


def _disk(disk: DiskSeen, needed_bytes: int, machine: MachineSeen) -> Finding:
    check = {"images": "images-disk", "home": "home-disk", "tmp": "tmp-disk"}.get(disk.what, "mount-disk")
    shown = f"{show_bytes(disk.free_bytes)} of {show_bytes(disk.total_bytes)} free"
    command, folder = Command(("df", "-h", disk.path)).line(), shlex.quote(disk.path)
    fix = FREE_IMAGES_FIX if disk.what == "images" else f"free some space: du -xsh {folder}/* | sort -h"
    closed = [path for path in machine.unwritable if (path == "/tmp") is (disk.what == "tmp")]
    if closed and disk.what in ("home", "tmp"):
        return _unwritable(check, closed[0], machine)
    if disk.free_bytes < needed_bytes:
        evidence = [f"the image takes about {show_bytes(needed_bytes)} while it is loaded, and is not there yet"]
        return bad(check, f"{shown} at {disk.path}", evidence, command, fix)
    if disk.what != "mount" and disk.free_bytes < MIN_HOME_BYTES:
        needed = f"{disk.path}: {shown}, at least {show_bytes(MIN_HOME_BYTES)} are needed"
        return bad(check, f"full: {shown} at {disk.path}", [needed], command, fix)
    if disk.inodes and disk.free_inodes is not None and disk.free_inodes < FEW_INODES:
        judge = bad if disk.free_inodes == 0 and disk.what != "mount" else warn
        said = f"{disk.free_inodes} of {disk.inodes} inodes free at {disk.path}"
        return judge(check, said, ["no new files fit, whatever space is left"], f"df -i {folder}", fix)
    if disk.what in ("images", "home") and _is_little(disk):
        return warn(check, f"only {shown} at {disk.path}", (), command, fix)
    return good(check, f"{shown} at {disk.path}")


def _is_little(disk: DiskSeen) -> bool:
    """Whether little space is left: less than 2.5 GiB, or less than 10 % and less than 50 GiB.

    On a very large disk, 50 GiB are enough even if they are less than 10 %."""
    is_small_share = disk.free_bytes < LITTLE_SHARE * disk.total_bytes
    return disk.free_bytes < LITTLE_DISK / 4 or (is_small_share and disk.free_bytes < 5 * LITTLE_DISK)


def judge_infiniband(machine: MachineSeen) -> Finding | None:
    """Judge the InfiniBand ports. The finding is WARN if no port is active, otherwise GOOD.

    Return None for a machine without InfiniBand."""
    if not machine.infiniband_ports:
        return None
    shown = ", ".join(
        f"{port.device}:{port.port} {port.state} {port.rate}".strip() for port in machine.infiniband_ports
    )
    down = [port for port in machine.infiniband_ports if not port.is_active]
    if len(down) == len(machine.infiniband_ports):
        evidence = [f"{port.device} port {port.port}: {port.state}" for port in down]
        fix = "check cable and subnet manager: sudo systemctl start opensm"
        return warn("infiniband", "no port is active", evidence, "ibstat", fix)
    return good("infiniband", shown)
