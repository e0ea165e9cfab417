"""Ways to break hosts and the network between them, and to tell that they are whole again."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.cluster.lab import LabHost
from tests.cluster.lab.spec import GATEWAY
from tests.cluster.lab.wait import side_by_side, until

BOTH = ("INPUT", "OUTPUT")
TO_THE_HOST = ("INPUT",)
# A home of its own that is full; the key that opens the door lies in it.
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
    """No process of it says goodbye: what its kernel would still send vanishes."""
    for chain in BOTH:
        host.exec(f"iptables -w -I {chain} -j DROP")
    host.kill()


def power_on(host: LabHost) -> None:
    if host.engine.inspect_container(host.container)["State"]["Status"] != "running":
        host.start()


def cut(host: LabHost, address: str, ways: Sequence[str] = BOTH) -> None:
    """What goes between the host and that address vanishes, also of connections that are open."""
    for chain in ways:
        host.exec(f"iptables -w -I {chain} {_PEER[chain]} {address} -j DROP")


def cut_off_laptop(hosts: Sequence[LabHost], ways: Sequence[str] = BOTH) -> None:
    """The lab's gateway is where the program runs."""
    side_by_side(lambda host: cut(host, GATEWAY, ways), hosts)


def join(hosts: Sequence[LabHost]) -> None:
    """Ends every cut."""
    side_by_side(lambda host: host.exec("iptables -w -F INPUT; iptables -w -F OUTPUT"), hosts)


@contextmanager
def full_home(host: LabHost) -> Iterator[None]:
    host.exec(FULL_HOME)
    try:
        yield
    finally:
        host.exec(["umount", "/home/trainer"])


@contextmanager
def small_disk(host: LabHost, folder: str = "/home/trainer/.hvdocker") -> Iterator[None]:
    """A disk of 4 MB where clusters keep their files; nothing may be up."""
    host.exec(f"mkdir -p {folder} && mount -t tmpfs -o size=4m,mode=777 tmpfs {folder}")
    try:
        yield
    finally:
        host.exec(f"umount -l {folder} && rmdir {folder}")


def fill(host: LabHost, folder: str = "/home/trainer/.hvdocker") -> None:
    code, _, err = host.attempt(f"head -c 8m /dev/zero > {folder}/filler")
    assert code != 0 and "No space left" in err


def let_pass(seconds: float) -> None:
    """A cut that lasts so long: the time is the fault itself, not a guess at how long things take."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end or None, f"{seconds} s have passed", seconds + 60)


def mend(hosts: Sequence[LabHost]) -> None:
    """Powered on, engine and sshd running, nothing cut, nothing slow."""
    side_by_side(_mend, hosts)


def _mend(host: LabHost) -> None:
    power_on(host)
    host.mend()
