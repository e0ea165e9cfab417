"""The engine, SELinux, AppArmor, InfiniBand and names: from probe outputs."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hvdocker.doctor.facts.facts import EngineState
from hvdocker.doctor.judges.engine import judge_confinement, judge_engine
from hvdocker.doctor.judges.host_names import hosts_file_fix, judge_names, names_to_resolve
from hvdocker.doctor.judges.machine import judge_infiniband
from hvdocker.inventory.inventory import Host
from hvdocker.observe.state import EngineSeen
from tests.unit.builders import host_seen
from tests.unit.doctor.judges.machine_fixtures import machine, marks

FINE = EngineState("overlay2", "extfs", "2", "systemd")


@pytest.mark.parametrize(
    ("version", "mark"),
    [("18.09.1", "bad"), ("19.03.5", "warn"), ("20.10.24+dfsg1", "good"), ("27.1.1", "good"), ("?", "good")],
)
def test_the_age_of_an_engine(version: str, mark: str) -> None:
    seen = host_seen("a", engine=EngineSeen(version, "x86_64", 1))
    assert marks(list(judge_engine(seen, FINE)))["engine"] == mark


@pytest.mark.parametrize(
    ("changes", "check", "mark"),
    [
        ({"storage_driver": "vfs"}, "storage", "warn"),
        ({"storage_driver": "devicemapper"}, "storage", "warn"),
        ({"security": ("seccomp", "rootless")}, "socket", "bad"),
        ({"security": ("userns",)}, "socket", "bad"),
        ({"root_dir": "/var/snap/docker/common/var-lib-docker"}, "socket", "bad"),
    ],
)
def test_engines_of_another_kind(changes: dict[str, object], check: str, mark: str) -> None:
    odd = replace(FINE, **changes)  # type: ignore[arg-type]  # fields of EngineState
    found = {finding.check: finding for finding in judge_engine(host_seen("a"), odd)}
    assert found[check].mark.value == mark and found[check].fix and found[check].evidence
    assert {name for name, finding in found.items() if finding.mark.value != "good"} == {check}


def test_an_engine_that_cannot_train_is_bad_behind_sudo_too() -> None:
    mapped = replace(FINE, security=("userns",))
    assert marks(list(judge_engine(host_seen("a", needs_sudo=True), mapped)))["socket"] == "bad"


def test_an_engine_behind_sudo() -> None:
    found = {one.check: one for one in judge_engine(host_seen("a", needs_sudo=True), FINE)}
    assert found["socket"].mark.value == "warn" and found["socket"].fix == "sudo usermod -aG docker $USER"


@pytest.mark.parametrize(
    ("name", "security", "expected"),
    [
        ("selinux-enforcing", ("selinux",), {"selinux": "bad"}),
        ("selinux-labelled", ("selinux",), {"selinux": "good"}),
        ("selinux-enforcing", (), {"selinux": "good"}),
        ("apparmor-without-parser", ("apparmor",), {"apparmor": "bad"}),
        ("apparmor", ("apparmor",), {"apparmor": "good"}),
        ("plain", (), {}),
    ],
)
def test_what_confines_containers(name: str, security: tuple[str, ...], expected: dict[str, str]) -> None:
    found = list(judge_confinement(machine(name), replace(FINE, security=security)))
    assert marks(found) == expected
    for finding in found:
        if finding.check == "selinux" and finding.fix:
            # Folders of people are named, and never relabelled by a command that we offer.
            label, _, mounts = finding.fix.partition("; ")
            assert label.endswith("container_file_t /home/me/.hvdocker")
            assert mounts == "give /mnt/x a label that containers may read" and "/mnt/x" in finding.evidence[1]


def test_infiniband() -> None:
    assert judge_infiniband(machine("plain")) is None
    some, none = judge_infiniband(machine("infiniband")), judge_infiniband(machine("infiniband-down"))
    assert some and some.mark.value == "good" and "mlx5_0:1 ACTIVE 200 Gb/sec" in some.shown
    assert none and none.mark.value == "warn"
    assert none.evidence == ("mlx5_0 port 1: INIT", "mlx5_1 port 1: DOWN")


def test_names_on_loopback() -> None:
    a, b = Host("a", "a"), Host("b", "b")
    assert list(names_to_resolve(a, [a, b, Host("c", "10.0.0.9")])) == ["a", "a", "b"]
    known = {"a": "10.0.0.11", "b": "10.0.0.12"}
    fine = judge_names(machine("plain"), a, [a, b], known)
    assert (fine.mark.value, fine.shown) == ("good", "a")
    debian = judge_names(machine("full"), a, [a], known)
    # Containers have a name of their own, so what Debian's installer leaves (127.0.1.1 a) harms nothing.
    assert (debian.mark.value, debian.shown) == ("good", "a")
    wrong = judge_names(machine("full"), a, [a, b], known)
    assert (wrong.mark.value, wrong.evidence) == ("bad", ("b resolves to 127.0.0.1",))
    assert wrong.command == "getent hosts b" and wrong.fix == hosts_file_fix({"b": "10.0.0.12"})


HOSTS = """\
# 127.0.0.1 a
127.0.0.1 localhost a a.lan b-a
127.0.1.1\ta
  127.0.0.2  axlan A.LAN a a
::1 localhost ip6-localhost a
10.0.0.12 b a.lan
"""


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (
            {"a": "10.0.0.11"},
            "# 127.0.0.1 a\n127.0.0.1 localhost a.lan b-a\n  127.0.0.2  axlan A.LAN\n"
            "::1 localhost ip6-localhost\n10.0.0.12 b a.lan\n10.0.0.11 a\n",
        ),
        (
            {"a.lan": "10.0.0.11", "b-a": None},
            "# 127.0.0.1 a\n127.0.0.1 localhost a\n127.0.1.1\ta\n  127.0.0.2  axlan a a\n"
            "::1 localhost ip6-localhost a\n10.0.0.12 b a.lan\n10.0.0.11 a.lan\n",
        ),
    ],
)
def test_the_command_that_takes_a_name_off_loopback_takes_nothing_else(
    tmp_path: Path, names: dict[str, str | None], left: str
) -> None:
    """Run as it is offered, on a file of our own; sudo is the only word that is left out."""
    file = tmp_path / "hosts"
    file.write_text(HOSTS)
    line = hosts_file_fix(names).replace("/etc/hosts", str(file)).replace("sudo tee", "tee")
    for _ in range(2):
        subprocess.run(["sh", "-c", line], check=True)
        assert file.read_text().startswith(left)


@pytest.mark.parametrize("name", ["localhost", "a;reboot", "a/b", "a'b"])
def test_names_for_which_no_edit_is_offered(name: str) -> None:
    assert "sed" not in hosts_file_fix({name: "10.0.0.11"})
