"""The doctor's script, run here against a machine that is made of files."""

import subprocess
from pathlib import Path

import pytest

from hvdocker.doctor.facts.commands import check_hashes, query_cards, query_machine
from hvdocker.doctor.facts.facts import MachineSeen
from hvdocker.doctor.facts.parse_machine import read_machine
from hvdocker.doctor.facts.trial_commands import look_inside, read_inside
from hvdocker.observe.clock import clock, read_clock
from tests.unit.doctor.judges.machine_fixtures import FIXTURES

SMI = """#!/bin/sh
case "$1" in
    *persistence_mode*) [ -z "$OLD" ] || exit 2; tail=", Enabled, Disabled";;
    --query-compute-apps*) echo "GPU-1, $$, python, 100"; exit 0;;
esac
[ -z "$BROKEN" ] || { echo "Failed to initialize NVML"; exit 18; }
echo "0, GPU-1, Tesla T4, 15360, 100, 535.183.01$tail"
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A machine with InfiniBand, SELinux, AppArmor and an NVIDIA card."""
    files = {
        "proc/meminfo": "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    500 kB\n",
        "proc/loadavg": "1.50 1.00 0.50 1/100 1\n",
        "proc/sys/kernel/hostname": "gpu-a\n",
        "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
        "sys/class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)\n",
        "sys/class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand\n",
        "sys/fs/selinux/enforce": "1",
        "sys/module/apparmor/parameters/enabled": "Y\n",
        "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n",
        "sys/bus/pci/devices/0000:02:00.0/vendor": "0x10de\n",
        "sys/bus/pci/devices/0000:02:00.0/class": "0x040300\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def looked(top: Path, *mounts: str, **environment: str) -> MachineSeen:
    words = query_machine("/", mounts, ["localhost"], str(top))
    bin_dir = top / "bin"
    bin_dir.mkdir(exist_ok=True)
    (bin_dir / "nvidia-smi").write_text(SMI)
    (bin_dir / "nvidia-smi").chmod(0o755)
    path = f"{bin_dir}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    said = ""
    for command in (words, query_cards()):
        done = subprocess.run(
            command.argv, capture_output=True, text=True, env={"HOME": str(top), "PATH": path, **environment}
        )
        assert (done.returncode, done.stderr) == (0, "")
        said += done.stdout
    seen = read_machine(said)
    assert seen is not None
    return seen


def test_the_script_sees_what_the_kernel_says(top: Path) -> None:
    (top / ".hvdocker" / "lab").mkdir(parents=True)
    seen = looked(top, str(top))
    assert (seen.hostname, seen.memory_bytes, seen.available_bytes, seen.load) == (
        "gpu-a",
        1024000,
        512000,
        1.5,
    )
    assert seen.cpus and seen.kernel.startswith("Linux")
    (port,) = seen.infiniband_ports
    assert (port.device, port.port, port.state, port.is_active) == ("mlx5_0", "1", "ACTIVE", True)
    assert seen.is_selinux_enforcing and seen.has_apparmor and seen.nvidia_cards == 1
    assert [disk.what for disk in seen.disks] == ["images", "home", "tmp", "mount"]
    assert all(disk.total_bytes > disk.free_bytes > 0 for disk in seen.disks)
    assert seen.resolved["localhost"] and seen.user and seen.unwritable == ()
    (gpu,) = seen.gpus
    assert (gpu.model, gpu.driver, gpu.is_persistent, gpu.is_mig) == ("Tesla T4", "535.183.01", True, False)
    (process,) = seen.gpu_processes
    assert (process.gpu, process.name, process.used_mb) == ("GPU-1", "python", "100")


def test_an_nvidia_smi_that_knows_fewer_fields_or_fails(top: Path) -> None:
    (gpu,) = looked(top, OLD="1").gpus
    assert (gpu.memory_mb, gpu.is_persistent, gpu.is_mig) == (15360, None, False)
    broken = looked(top, OLD="1", BROKEN="1")
    assert (broken.gpus, broken.gpu_error) == ((), "Failed to initialize NVML")
    (top / "bin" / "timeout").write_text("#!/bin/sh\nexit 137\n")
    (top / "bin" / "timeout").chmod(0o755)
    assert looked(top).gpu_error == "nvidia-smi did not answer within 10 s"


def test_where_no_name_server_answers_the_rest_is_told_all_the_same(top: Path) -> None:
    """A `getent` that never answers: all names are looked up at once, within one time limit."""
    words = query_machine("/", [], [f"gpu-{number}" for number in range(20)], str(top))
    bin_dir = top / "bin"
    bin_dir.mkdir()
    (bin_dir / "getent").write_text("#!/bin/sh\nexec sleep 600\n")
    (bin_dir / "timeout").write_text('#!/bin/sh\nshift\ncase $1 in getent) exit 124;; esac\nexec "$@"\n')
    for program in bin_dir.iterdir():
        program.chmod(0o755)
    path = f"{bin_dir}:/usr/bin:/bin"
    done = subprocess.run(words.argv, capture_output=True, text=True, env={"HOME": str(top), "PATH": path})
    seen = read_machine(done.stdout)
    assert seen and seen.memory_bytes == 1000 * 1024
    assert len(seen.resolved) == 21 and set(seen.resolved.values()) == {()}


def test_an_answer_cut_short_is_none() -> None:
    text = (FIXTURES / "plain.txt").read_text()
    assert read_machine(text) and read_machine(text.removesuffix("done\n")) is None


@pytest.mark.parametrize(
    ("said", "read"),
    [("1700000000.5\n", 1700000000.5), ("1700000000\n", 1700000000.0), ("%s\n", None), ("", None)],
)
def test_times_of_gnu_and_busybox(said: str, read: float | None) -> None:
    assert read_clock(said) == read


def test_a_date_that_knows_no_fractions(tmp_path: Path) -> None:
    (tmp_path / "date").write_text("#!/bin/sh\ncase $1 in *N) echo 17.%N;; *) echo 17;; esac\n")
    (tmp_path / "date").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(clock().argv, capture_output=True, text=True, env=environment)
    assert read_clock(done.stdout) == 17.0


def test_hashes_are_judged_in_order(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    lines = f"{empty}  ./a\n{empty}  ./gone\n"
    done = subprocess.run(check_hashes(str(tmp_path)).argv, input=lines, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["./a: OK", "./gone: FAILED open or read"]


def test_what_a_container_tells_of_itself() -> None:
    """Any Python can run it; this one has pytest's packages."""
    done = subprocess.run(look_inside().argv, capture_output=True, text=True, check=True)
    seen = read_inside(f"a banner\n{done.stdout}")
    assert seen and seen.shm_bytes and seen.versions["python"].startswith("3.")
    assert read_inside("Traceback (most recent call last)") is None
