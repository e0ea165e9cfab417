"""The script that asks nvidia-smi, and what is made of its answers: recorded and scripted ones."""

import os
import subprocess
from pathlib import Path

import pytest

from hvdocker.observe.gpu import GpuProcess, GpuSeen
from hvdocker.observe.gpu_query import HUNG_ERROR, GpuAnswer, count_gpus, query_gpus, read_gpus

FIXTURES = Path(__file__).parents[1] / "fixtures" / "gpus"
CONTAINER = "c" * 64


def told(name: str) -> GpuAnswer:
    return read_gpus((FIXTURES / f"{name}.txt").read_text())


def test_a_split_card_offers_its_slices_and_not_itself() -> None:
    found = told("a100-mig")
    card, split = (f"GPU-0b1c2d3e-0000-1111-2222-33334444{tail}" for tail in ("5555", "6666"))
    a100 = "NVIDIA A100-SXM4-40GB"
    # Which slice a process is on is not told: it counts on all slices of its card.
    process = GpuProcess(4711, "/usr/bin/python3 train.py --sizes=1,2", "bob", 9873, CONTAINER)

    def part(uuid: str, profile: str, memory_mb: int) -> GpuSeen:
        return GpuSeen(1, uuid, f"{a100} MIG {profile}", memory_mb, temperature=44, parent=split, processes=(process,))

    assert found.gpus == (
        GpuSeen(0, card, a100, 40960, 3, 0, 31),
        part("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", "3g.20gb", 20480),
        part("MIG-0c757cd7-e942-5726-a0b8-0e8fb7067135", "1g.10gb+me", 10240),
        part(f"MIG-{split}/11/0", "1c.1g.5gb", 5120),
    )
    assert found.notes == ("GPU 2 is in MIG mode and has no slices: it cannot be used",)
    assert not found.error


def test_models_differ_and_processes_have_owners_and_containers() -> None:
    rtx, t4 = told("mixed").gpus
    assert (rtx.model, rtx.memory_mb, rtx.used_mb, rtx.utilization, rtx.temperature) == (
        "NVIDIA GeForce RTX 4090", 24564, 22011, 98, 71,
    )  # fmt: skip
    inner, unknown = (
        GpuProcess(8123, "python", "ada", 21500, CONTAINER),
        GpuProcess(8200, "python", "70123", 310),
    )
    assert rtx.processes == (inner, unknown)
    assert (t4.model, t4.processes) == ("Tesla T4", ())
    assert rtx.foreign_processes(()) == (inner, unknown)
    assert rtx.foreign_processes({CONTAINER}) == ()


def test_a_desktop_is_of_no_consequence() -> None:
    (gpu,) = told("desktop").gpus
    assert [(one.name.split()[0], one.user) for one in gpu.processes] == [
        ("/usr/lib/xorg/Xorg", "root"),
        ("/opt/google/chrome/chrome", "ada"),
    ]
    assert gpu.foreign_processes(()) == ()
    assert len(gpu.foreign_processes((), busy_bytes=272 << 20)) == 2


def test_what_an_old_card_does_not_tell_is_none() -> None:
    """A card that names no processes is judged by its memory; a process without a memory counts."""
    first, second = told("old-card").gpus
    assert (first.utilization, first.processes) == (None, (GpuProcess(0, used_mb=1810),))
    assert (second.model, second.memory_mb, second.used_mb) == ("Quadro, K620", None, None)
    assert second.foreign_processes(()) == (GpuProcess(99),)


def test_cards_beside_a_lost_one_are_used() -> None:
    found = told("inforom")
    assert [gpu.uuid for gpu in found.gpus] == ["GPU-aa"] and not found.error
    assert found.notes[0].startswith("1, [GPU is lost]")
    assert found.notes[1] == "WARNING: infoROM is corrupted at gpu 0000:00:1B.0"


def test_why_nothing_is_known() -> None:
    mismatch = "Failed to initialize NVML: Driver/library version mismatch NVML library version: 535.183"
    assert told("nvml-mismatch") == GpuAnswer(error=mismatch)
    assert told("no-devices") == GpuAnswer()
    lost = (FIXTURES / "no-devices.txt").read_text().replace("done", "pci 0000:01:00.0\ndone")
    assert read_gpus(lost).error == "No devices were found"
    mixed = (FIXTURES / "mixed.txt").read_text()
    assert read_gpus(mixed.replace("appscode 0", "appscode 137")).error == HUNG_ERROR
    assert read_gpus(mixed.replace("code 0", "code 124")).error == HUNG_ERROR
    assert read_gpus(mixed.replace("appscode 0", "appscode 9")).error.startswith(
        "nvidia-smi does not tell who uses the GPUs: "
    )
    assert read_gpus(mixed.removesuffix("done\n")).error == "the host did not say all about its GPUs"


# Answers the questions in their real form: fields in the order in which they were asked for.
SMI = """#!/bin/sh
case "$OLD,$1" in
    ,*mig.mode.current*) tail=", Disabled";;
    1,*mig.mode.current*) echo 'Field "mig.mode.current" is not a valid field to query.'; exit 2;;
    2,*memory.total*) echo 'Field "memory.total" is not a valid field to query.'; exit 2;;
esac
case "$1" in
    --query-compute-apps*) echo "GPU-1, $WHO, 100, a program, with commas"; exit 0;;
    --query-gpu=index,uuid,name) echo "0, GPU-1, Tesla T4"; exit 0;;
esac
[ -z "$HANG" ] || exec sleep 600
[ -z "$BROKEN" ] || { echo "Failed to initialize NVML"; exit 18; }
echo "0, GPU-1, 15360, 100, 5, 40$tail, Tesla T4"
"""


def asked(folder: Path, has_card: bool = True, **environment: str) -> GpuAnswer:
    card = folder / "top" / "sys" / "bus" / "pci" / "devices" / "0000:01:00.0"
    if has_card:
        card.mkdir(parents=True, exist_ok=True)
        (card / "vendor").write_text("0x10de\n")
        (card / "class").write_text("0x030200\n")
    (folder / "nvidia-smi").write_text(SMI)
    (folder / "nvidia-smi").chmod(0o755)
    settings = {"PATH": f"{folder}:/usr/bin:/bin", "WHO": str(os.getpid()), **environment}
    words = query_gpus(str(folder / "top")).argv
    done = subprocess.run(words, capture_output=True, text=True, env=settings)
    assert done.returncode == 0
    return read_gpus(done.stdout)


@pytest.mark.parametrize(("old", "memory"), [("", 15360), ("1", 15360), ("2", None)])
def test_a_driver_is_asked_for_what_it_knows(tmp_path: Path, old: str, memory: int | None) -> None:
    (gpu,) = asked(tmp_path, OLD=old).gpus
    assert (gpu.index, gpu.uuid, gpu.model, gpu.memory_mb) == (0, "GPU-1", "Tesla T4", memory)
    (process,) = gpu.processes
    assert (process.pid, process.name, process.used_mb) == (os.getpid(), "a program, with commas", 100)
    assert process.user


def test_a_driver_that_fails_or_hangs(tmp_path: Path) -> None:
    # Tools without a card are nobody's trouble.
    assert asked(tmp_path, has_card=False, BROKEN="1") == GpuAnswer()
    assert asked(tmp_path, BROKEN="1") == GpuAnswer(error="Failed to initialize NVML")
    (tmp_path / "timeout").write_text('#!/bin/sh\nshift 3\nexec /usr/bin/timeout -s KILL 0.2 "$@"\n')
    (tmp_path / "timeout").chmod(0o755)
    assert asked(tmp_path, HANG="1") == GpuAnswer(error=HUNG_ERROR)


def test_a_process_that_is_gone_by_now(tmp_path: Path) -> None:
    (gpu,) = asked(tmp_path, WHO="999999999").gpus
    assert gpu.processes == (GpuProcess(999999999, "a program, with commas", "", 100),)


@pytest.mark.parametrize(
    ("program", "count"),
    [
        (None, "0"),
        ("echo 'GPU 0: A (UUID: GPU-1)'; echo '  MIG 1g.5gb Device 0: (UUID: MIG-1)'; echo 'GPU 1: B'", "2"),
        ("echo 'No devices were found'; exit 6", "0"),
        # It has some, and hangs.
        ("kill -9 $$", "1"),
    ],
)
def test_how_many_there_are(tmp_path: Path, program: str | None, count: str) -> None:
    if program:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(count_gpus().argv, env={"PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout == f"count {count}\n"
