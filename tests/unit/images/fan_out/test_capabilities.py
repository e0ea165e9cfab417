"""What a host says about itself before images travel."""

import subprocess

import pytest

from hvdocker.images.fan_out.capabilities import FeedCapabilities, capabilities_command, parse_capabilities

SAID = "cli\nssh\nsshd\nuser ann\naddress 10.0.0.1\naddresses 10.0.0.1 10.1.0.1\n"


def test_what_a_host_can_do() -> None:
    text = f"{SAID}disk /dev/sda 100 40 60 40% /\nroom tmpfs 10 4 6 40% /var/tmp\n"
    assert parse_capabilities(text) == FeedCapabilities(
        True, "ann", "10.0.0.1", ("10.0.0.1", "10.1.0.1"), 60 * 1024, 6 * 1024
    )
    assert parse_capabilities("ssh\nuser bob\ndisk \n") == FeedCapabilities(False, "bob")


@pytest.mark.parametrize(
    ("disk", "room", "is_one"),
    [
        ("/dev/sda1 100 40 60 40% /", "/dev/sda1 100 40 60 40% /", True),
        ("/dev/sda1 100 40 60 40% /", "/dev/sda1 100 40 60 40% /var/tmp", True),
        ("/dev/sda1 100 40 60 40% /var/lib/docker", "/dev/sda2 100 40 60 40% /", False),
        ("tmpfs 100 40 60 40% /var/lib/docker", "tmpfs 100 40 60 40% /var/tmp", False),
        ("overlay 100 40 60 40% /", "overlay 100 40 60 40% /", True),
        ("", "", False),
    ],
)
def test_whether_engine_and_feed_share_a_disk(disk: str, room: str, is_one: bool) -> None:
    assert parse_capabilities(f"disk {disk}\nroom {room}\n").is_one_disk == is_one


def test_a_folder_shares_its_disk_with_itself() -> None:
    """What this machine's own df says is understood."""
    said = subprocess.run(capabilities_command("/var/tmp").argv, capture_output=True, text=True).stdout
    assert parse_capabilities(said).is_one_disk and parse_capabilities(said).feed_disk_bytes
