"""Memory, processors, clock and disks."""

import pytest

from hvdocker.doctor.facts.facts import ClockSeen, DiskSeen, MachineSeen
from hvdocker.doctor.judges.machine import judge_clock, judge_cpu, judge_disks, judge_memory
from hvdocker.units import GIB
from tests.unit.builders import inventory
from tests.unit.doctor.judges.machine_fixtures import machine, marks


def test_an_ordinary_machine() -> None:
    seen = machine("plain")
    findings = [judge_memory(seen, inventory()), judge_cpu(seen, 4), *judge_disks(seen, 10 * GIB)]
    assert marks(findings) == dict.fromkeys(("memory", "cpu", "images-disk", "home-disk"), "good")
    assert [finding.shown for finding in findings] == [
        "57 GB of 62 GB free",
        "16 cores, load 0.4",
        "59 GB of 98 GB free at /var/lib/docker",
        "59 GB of 98 GB free at /home/ada",
    ]


def test_a_small_machine_without_gnu_tools() -> None:
    seen = machine("busybox")
    assert [disk.inodes for disk in seen.disks] == [None, None]
    memory, cpu = judge_memory(seen, inventory()), judge_cpu(seen, 2)
    assert (memory.mark.value, memory.shown) == ("warn", "only 1.5 GB of 1.9 GB free")
    assert cpu.mark.value == "warn" and cpu.fix == "say `slots: 1` for it in the inventory"
    assert marks(list(judge_disks(seen, 0))) == {"images-disk": "warn", "home-disk": "warn"}


def test_settings_that_ask_for_more_than_there_is() -> None:
    for key in ("shm", "memory"):
        finding = judge_memory(machine("plain"), inventory(f"hosts: [a]\n{key}: 900GB"))
        assert finding.mark.value == "warn" and key in finding.shown and key in (finding.fix or "")


def test_a_busy_machine_and_full_disks() -> None:
    seen = machine("full")
    assert judge_cpu(seen, 4).shown == "busy: 8 cores, load 40.0"
    images, home, mount = judge_disks(seen, 0)
    assert (images.check, images.mark.value) == ("images-disk", "bad") and images.shown.startswith("full: 0 B")
    assert home.mark.value == "bad" and home.shown == "/home/ada is not writable"
    # A data set may well fill its disk.
    assert mount.check == "mount-disk" and mount.mark.value == "warn" and "/mnt/data set" in mount.shown


@pytest.mark.parametrize(
    ("what", "folder", "fix"),
    [
        ("home", "/home/ada", "on the host: sudo chown ada /home/ada"),
        ("home", "/home/ada/.hvdocker", "on the host: sudo chown -R ada /home/ada/.hvdocker"),
        ("home", "/home/ada/.hvdocker/lab", "on the host: sudo chown -R ada /home/ada/.hvdocker/lab"),
        ("tmp", "/tmp", "on the host: sudo chmod 1777 /tmp"),
    ],
)
def test_folders_that_the_ssh_user_may_not_write_to(what: str, folder: str, fix: str) -> None:
    disks = (DiskSeen("home", "/home/ada", 100 * GIB, 50 * GIB), DiskSeen("tmp", "/tmp", 100 * GIB, 50 * GIB))
    found = {one.check: one for one in judge_disks(MachineSeen(disks=disks, user="ada", unwritable=(folder,)), 0)}
    closed = found.pop(f"{what}-disk")
    assert (closed.mark.value, closed.shown, closed.fix) == ("bad", f"{folder} is not writable", fix)
    assert [one.mark.value for one in found.values()] == ["good"]


def test_a_tmp_without_space_is_bad_because_locks_are_there() -> None:
    (full,) = judge_disks(MachineSeen(disks=(DiskSeen("tmp", "/tmp", GIB, 4096),)), 0)
    assert (full.check, full.mark.value) == ("tmp-disk", "bad") and "du -xsh /tmp/*" in (full.fix or "")
    (small,) = judge_disks(MachineSeen(disks=(DiskSeen("tmp", "/tmp", GIB, GIB // 4),)), 0)
    assert small.mark.value == "good"


def test_a_disk_without_inodes_left() -> None:
    disk = DiskSeen("home", "/home/ada", 100 * GIB, 50 * GIB, 6553600, 0)
    (finding,) = judge_disks(MachineSeen(disks=(disk,)), 0)
    assert finding.mark.value == "bad" and finding.command == "df -i /home/ada"


def test_an_image_that_does_not_fit() -> None:
    images, *_ = judge_disks(machine("plain"), 80 * GIB)
    assert images.mark.value == "bad" and images.evidence == (
        "the image takes about 80 GB while it is loaded, and is not there yet",
    )


@pytest.mark.parametrize(
    ("offset_s", "round_trip_s", "mark"),
    [
        (0.2, 0.05, "good"),
        (1.4, 1.0, "good"),
        (-1.6, 0.1, "warn"),
        (29.0, 0.1, "warn"),
        (100.0, 0.1, "warn"),
        (-3600.0, 5.0, "warn"),
    ],
)
def test_a_clock(offset_s: float, round_trip_s: float, mark: str) -> None:
    finding = judge_clock(ClockSeen(offset_s, round_trip_s))
    assert finding.mark.value == mark
    if mark != "good":
        assert finding.shown.endswith(f" {'ahead of' if offset_s > 0 else 'behind'} this machine")
        assert finding.fix == "sudo timedatectl set-ntp true"


def test_what_was_not_told_is_not_known() -> None:
    bare = MachineSeen()
    findings = [judge_memory(bare, inventory()), judge_cpu(bare, 1), judge_clock(None)]
    assert marks(findings) == dict.fromkeys(("memory", "cpu", "clock"), "unknown")
