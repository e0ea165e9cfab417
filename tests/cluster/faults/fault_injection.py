"""Breaks hosts and the network between them, and repairs both."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.cluster.lab import LabHost
from tests.cluster.lab.spec import GATEWAY
from tests.cluster.lab.wait import in_parallel, until

BOTH_DIRECTIONS = ("INPUT", "OUTPUT")
INBOUND = ("INPUT",)
# Mounts a small, full file system as the home of the login user; the authorized key is copied into it.
FULL_HOME = """
set -e
mount -t tmpfs -o size=1m,uid=1000,gid=1000,mode=755 tmpfs /home/trainer
mkdir -m 700 /home/trainer/.ssh
printf '%s\\n' "$LAB_PUBLIC_KEY" > /home/trainer/.ssh/authorized_keys
chown -R trainer /home/trainer/.ssh
dd if=/dev/zero of=/home/trainer/fill bs=4k 2>/dev/null || true
"""
_PEER = {"INPUT": "-s", "OUTPUT": "-d"}


def power_off(host: LabHost) -> None:
    """Kill the host after dropping all its packets, so that its kernel closes no connection."""
    for chain in BOTH_DIRECTIONS:
        host.exec(f"iptables -w -I {chain} -j DROP")
    host.kill()


def power_on(host: LabHost) -> None:
    if host.engine.inspect_container(host.container)["State"]["Status"] != "running":
        host.start()


def drop_packets(host: LabHost, address: str, ways: Sequence[str] = BOTH_DIRECTIONS) -> None:
    """Drop packets between the host and that address, also those of open connections."""
    for chain in ways:
        host.exec(f"iptables -w -I {chain} {_PEER[chain]} {address} -j DROP")


def cut_off_controller(hosts: Sequence[LabHost], ways: Sequence[str] = BOTH_DIRECTIONS) -> None:
    """Drop packets between the hosts and the controller, which is the gateway of the lab's network."""
    in_parallel(lambda host: drop_packets(host, GATEWAY, ways), hosts)


def restore_network(hosts: Sequence[LabHost]) -> None:
    """Remove all packet filters of the hosts."""
    in_parallel(lambda host: host.exec("iptables -w -F INPUT; iptables -w -F OUTPUT"), hosts)


@contextmanager
def full_home(host: LabHost) -> Iterator[None]:
    host.exec(FULL_HOME)
    try:
        yield
    finally:
        host.exec(["umount", "/home/trainer"])


@contextmanager
def small_disk(host: LabHost, folder: str = "/home/trainer/.hvdocker") -> Iterator[None]:
    """Mount a disk of 4 MB where clusters keep their files. No cluster may be up."""
    host.exec(f"mkdir -p {folder} && mount -t tmpfs -o size=4m,mode=777 tmpfs {folder}")
    try:
        yield
    finally:
        host.exec(f"umount -l {folder} && rmdir {folder}")


def fill_disk(host: LabHost, folder: str = "/home/trainer/.hvdocker") -> None:
    code, _, err = host.attempt(f"head -c 8m /dev/zero > {folder}/filler")
    assert code != 0 and "No space left" in err


def wait_seconds(seconds: float) -> None:
    """Wait for the duration of a fault: here the time is the fault itself, not a guess how long things
    take."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end or None, f"{seconds} s have passed", seconds + 60)


def repair_hosts(hosts: Sequence[LabHost]) -> None:
    """Power hosts on, start engine and sshd, remove packet filters and traffic shaping."""
    in_parallel(_repair, hosts)


def _repair(host: LabHost) -> None:
    power_on(host)
    host.repair()
